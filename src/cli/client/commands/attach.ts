import type { Command } from "commander";
import type { Host } from "../../../client/host/host.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { endWith } from "../outcome/end-with.ts";
import { asFailure, Failure, OWN_FAILURE_STATUS } from "../outcome/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { isMeant, type KeptName, parseKeptName } from "../kept/kept-name.ts";
import { converse } from "../terminal/converse.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import { statusOfOutcome } from "../terminal/run-on-terminal.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface AttachOptions extends TargetOptions {
  readonly readOnly?: boolean;
}

const EXAMPLES = `
The process's status becomes this command's if it ends meanwhile; 255: exec-server failed.
Keys at the beginning of a line: ~. detaches, ~^Z suspends this program, ~? shows help, ~~ is a tilde.
Several people can be attached at once. The terminal has the size of the window in which somebody typed last.

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
    .description("See and control a process that was started with 'run -d'. It goes on when you leave.")
    .argument("<name>", "name of the process, as 'ps' shows it; OWNER/NAME for someone else's")
    .option("-r, --read-only", "only look: what is typed goes nowhere")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (name: string) => {
    await endWith(await attach(name, command.optsWithGlobals<AttachOptions>()));
  });
}

/** Resolves with the exit status. */
async function attach(name: string, { readOnly = false, ...options }: AttachOptions): Promise<number> {
  try {
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
  } catch (error) {
    const failure = asFailure(error, OWN_FAILURE_STATUS);
    // A status of 1 could be the process's.
    throw failure?.exitCode === 1 ? new Failure(failure.message, OWN_FAILURE_STATUS) : (failure ?? error);
  }
}

async function runsOnTerminal(host: Host, typed: KeptName): Promise<boolean> {
  if (!host.supports("process/start.keep")) return false;
  const kept = await host.processes({ scope: "kept" });
  const meant = kept.filter((listed) => isMeant(listed, typed));
  // Of several, the server decides which one it is.
  return meant.length > 0 && meant.every(({ tty, state }) => tty && state === "running");
}
