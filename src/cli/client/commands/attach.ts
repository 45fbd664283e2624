import type { Command } from "commander";
import type { Host } from "../../../client/host/host.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { setAction, withOwnStatus } from "../outcome/end-with.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { matchesName, type KeptName, parseKeptName } from "../kept/kept-name.ts";
import { converse } from "../terminal/converse.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import { statusOfOutcome } from "../terminal/run-on-terminal.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface AttachOptions extends TargetOptions {
  readonly readOnly?: boolean;
}

const EXAMPLES = `
If the process ends while you are attached, its status becomes this command's; 255: exec-server failed.
Keys at the beginning of a line: ~. detaches, ~^Z suspends this program, ~? shows help, ~~ is a tilde.
Several people can be attached at once. The terminal takes the size of the window that was last typed in.

Examples:
  exec-server run -d -t --name build -- make
  exec-server attach build
  exec-server attach --read-only build
`;

/** Adds `attach`. */
export function define(program: Command): void {
  const command = program
    .command("attach")
    .summary("see and control a process that was left running")
    .description("See and control a process that was started with 'run -d'. It keeps running when you leave.")
    .argument("<name>", "name of the process, as 'ps' shows it; OWNER/NAME for someone else's")
    .option("-r, --read-only", "only watch: your keys are not sent")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), withOwnStatus(attach));
}

/** Resolves with the exit status. */
async function attach(name: string, { readOnly = false, ...options }: AttachOptions): Promise<number> {
  await using host = await connectNamed([name], options);
  // The screen of a terminal is painted, so its past is not needed.
  const isScreen = await runsOnTerminal(host, parseKeptName(name));
  const remote = await attachByName(host, name, {
    mode: readOnly ? "follow" : "control",
    fromSeq: isScreen ? Number.MAX_SAFE_INTEGER : 1,
  });
  const outcome = await converse(new LocalTerminal(), host, remote, {
    paintFirst: true,
    readOnly,
    // It would end a shell.
    keepsInput: remote.tty,
  });
  if (outcome.kind !== "ended") writeErr(`detached from ${name}\n`);
  return outcome.kind === "left" ? 0 : statusOfOutcome(outcome);
}

async function runsOnTerminal(host: Host, typed: KeptName): Promise<boolean> {
  if (!host.supports("process/start.keep")) return false;
  const kept = await host.processes({ scope: "kept" });
  const meant = kept.filter((listed) => matchesName(listed, typed));
  // If there are several, the server decides which one it is.
  return meant.length > 0 && meant.every(({ tty, state }) => tty && state === "running");
}
