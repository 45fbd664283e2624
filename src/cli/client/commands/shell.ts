import { repeated } from "../arguments.ts";
import type { Command } from "commander";
import { type End, endWith } from "../outcome/end-with.ts";
import { asFailure, OWN_FAILURE_STATUS } from "../outcome/failure.ts";
import { failedStart } from "../outcome/exit-status.ts";
import { homeOf, loginShell } from "../running/login-shell.ts";
import { startOptions } from "../running/start-options.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface ShellOptions extends TargetOptions {
  readonly cwd?: string;
  readonly env?: readonly string[];
}

const EXAMPLES = `
The shell's status becomes this command's; 255: exec-server failed.
Keys at the beginning of a line: ~. leaves and ends the shell, ~^Z suspends this program, ~? shows help, ~~ is a tilde.
If the connection is lost, the shell waits for a new one, and the screen is painted again.

Examples:
  exec-server shell
  exec-server -H build shell --cwd /srv/app
  echo 'uname -a' | exec-server shell
`;

/** Adds `shell`. */
export function define(program: Command): void {
  const command = program
    .command("shell")
    .summary("open a login shell; it survives a lost connection")
    .description("Open a login shell in this terminal. Without a terminal, commands are read from stdin.")
    .option(
      "--cwd <DIR>",
      "working directory of the shell; elsewhere than here, the home directory is the default",
    )
    .option("--env <K=V>", "set a variable; K alone takes its value from here (repeatable)", repeated)
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async () => {
    await endWith(await shell(command.optsWithGlobals<ShellOptions>()));
  });
}

/** Resolves with how it ended. */
async function shell(options: ShellOptions): Promise<End> {
  try {
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
  } catch (error) {
    throw failedStart(error) ?? asFailure(error, OWN_FAILURE_STATUS) ?? error;
  }
}
