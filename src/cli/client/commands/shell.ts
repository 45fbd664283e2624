import { repeated } from "../arguments.ts";
import type { Command } from "commander";
import { type End, setAction, withOwnStatus } from "../outcome/end-with.ts";
import { homeOf, loginShell, type StartFlags, startOptions } from "../running/start-options.ts";
import { withSecrets } from "../running/secret-flags.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

type ShellOptions = TargetOptions & Pick<StartFlags, "cwd" | "env" | "secret">;

const EXAMPLES = `
The shell's status becomes this command's; 255: exec-server failed.
Keys at the beginning of a line: ~. leaves and ends the shell, ~^Z suspends this program, ~? shows help, ~~ is a tilde.
If the connection is lost, the shell waits for a new one, and the screen is painted again. Over ssh, the shell ends
with the connection; one that was started with 'run -d -t' does not, and 'attach' shows it again.

Examples:
  exec-server shell
  exec-server -H build shell --cwd /srv/app
  echo 'uname -a' | exec-server shell
  exec-server -H ssh://build run -d -t --name work -- bash -l
  exec-server -H ssh://build attach work
`;

/** Adds `shell`. */
export function define(program: Command): void {
  const command = program
    .command("shell")
    .summary("open a login shell")
    .description("Open a login shell in this terminal. Without a terminal, commands are read from stdin.")
    .option(
      "--cwd <DIR>",
      "working directory of the shell [default: this one; on another machine, your home]",
    )
    .option("--env <K=V>", "set a variable; K alone copies yours (repeatable)", repeated);
  withSecrets(command, "the shell").addHelpText("after", EXAMPLES);
  setAction(withTarget(command), withOwnStatus(shell));
}

/** Resolves with how it ended. */
async function shell(options: ShellOptions): Promise<End> {
  const connected = await connectTarget(options);
  await using host = connected.host;
  const argv = loginShell(host);
  const start = { ...homeOf(host), ...startOptions(connected, options) };
  if (process.stdin.isTTY) {
    const { runOnTerminal } = await import("../terminal/run-on-terminal.ts");
    return await runOnTerminal(host, argv, start);
  }
  const { runPiped } = await import("../running/run-piped.ts");
  return await runPiped(host, argv, { ...start, stdin: true });
}
