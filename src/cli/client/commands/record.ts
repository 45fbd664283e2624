import { repeated } from "../arguments.ts";
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { CastWriter } from "../cast/cast-file.ts";
import { recordProcess } from "../cast/record-process.ts";
import { endWith } from "../outcome/end-with.ts";
import { asFailure, Failure, OWN_FAILURE_STATUS } from "../outcome/failure.ts";
import { checkProgram, failedStart } from "../outcome/exit-status.ts";
import { homeOf, loginShell } from "../running/login-shell.ts";
import { startOptions } from "../running/start-options.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import { runOnTerminal } from "../terminal/run-on-terminal.ts";

interface RecordOptions extends TargetOptions {
  readonly force?: boolean;
  readonly cwd?: string;
  readonly env?: readonly string[];
}

const DEFAULT_SIZE = { cols: 80, rows: 24 };

const EXAMPLES = `
The file is an asciicast of version 2, which asciinema and its players read too. Only what the terminal shows is
recorded, not what is typed. The status is that of the command; 255: exec-server failed.

Examples:
  exec-server record demo.cast
  exec-server record demo.cast -- make test
  exec-server replay demo.cast
`;

/** Adds `record`. */
export function define(program: Command): void {
  const command = program
    .command("record")
    .summary("record a terminal as asciicast")
    .description("Run a command, or a login shell, on a terminal in this one, and record it in a file.")
    .usage("[OPTIONS] FILE [--] [CMD [ARG...]]")
    .argument("<file>", "file for the recording")
    .argument("[cmd...]", "program and its arguments [default: a login shell]")
    .passThroughOptions()
    .option("-f, --force", "replace a file that exists")
    .option("--cwd <DIR>", "working directory of the command")
    .option("--env <K=V>", "set a variable; K alone takes its value from here (repeatable)", repeated)
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (file: string, words: string[]) => {
    // The parser leaves `--` where it is once it has seen a word.
    const argv = words[0] === "--" ? words.slice(1) : words;
    await endWith(await record(file, argv, command.optsWithGlobals<RecordOptions>()));
  });
}

/** Resolves with the exit status. */
async function record(file: string, argv: readonly string[], options: RecordOptions): Promise<number> {
  try {
    checkProgram(argv);
    const connected = await connectTarget(options);
    await using host = connected.host;
    const size = new LocalTerminal().size ?? DEFAULT_SIZE;
    const force = options.force === true;
    if (!force && existsSync(file)) throw new Failure(`${file} exists; --force replaces it`);
    const isShell = argv.length === 0;
    const start = { ...(isShell ? homeOf(host) : {}), ...startOptions(connected, options) };
    const stop = new AbortController();
    let recorded: Promise<void> | undefined;
    try {
      return await runOnTerminal(host, isShell ? loginShell(host) : argv, start, async (remote, terminal) => {
        // Only now: a command that cannot be started replaces nothing.
        const writer = await CastWriter.create(file, { version: 2, ...size }, { force });
        recorded = recordProcess(writer, remote, { terminal, signal: stop.signal });
        // Reported when the terminal is as it was.
        recorded.catch(() => {});
      });
    } catch (error) {
      // Whoever leaves does not wait for the end.
      stop.abort();
      throw error;
    } finally {
      await recorded;
    }
  } catch (error) {
    throw failedStart(error) ?? asFailure(error, OWN_FAILURE_STATUS) ?? error;
  }
}
