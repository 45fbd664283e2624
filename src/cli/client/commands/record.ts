import { repeated } from "../arguments.ts";
import { existsSync } from "node:fs";
import type { Command } from "commander";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { CastWriter } from "../cast/cast-file.ts";
import { setAction, withOwnStatus } from "../outcome/end-with.ts";
import { Failure } from "../../shared/failure.ts";
import { checkProgram } from "../outcome/exit-status.ts";
import { homeOf, loginShell, type StartFlags, startOptions } from "../running/start-options.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import { runOnTerminal } from "../terminal/run-on-terminal.ts";

interface RecordOptions extends TargetOptions, Pick<StartFlags, "cwd" | "env"> {
  readonly force?: boolean;
}

const DEFAULT_SIZE = { cols: 80, rows: 24 };

const EXAMPLES = `
The file is an asciicast (version 2), which asciinema and its players read, too. Only what the terminal shows is
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
    .description("Run a command, or a login shell, in this terminal, and record what it shows in a file.")
    .usage("[OPTIONS] FILE [--] [CMD [ARG...]]")
    .argument("<file>", "file for the recording")
    .argument("[cmd...]", "program and its arguments [default: a login shell]")
    .passThroughOptions()
    .option("-f, --force", "replace an existing file")
    .option("--cwd <DIR>", "working directory of the command")
    .option("--env <K=V>", "set a variable; K alone copies yours (repeatable)", repeated)
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), withOwnStatus(record));
}

/** Resolves with the exit status. */
async function record(file: string, words: readonly string[], options: RecordOptions): Promise<number> {
  // The parser leaves `--` where it is once it has seen a word.
  const argv = words[0] === "--" ? words.slice(1) : words;
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
      // Not earlier: a command that cannot be started must not replace the file.
      const writer = await CastWriter.create(file, { version: 2, ...size }, { force });
      recorded = recordProcess(writer, remote, { terminal, signal: stop.signal });
      // Reported when the terminal is as it was.
      recorded.catch(() => {});
    });
  } catch (error) {
    // Leaving does not wait for the end.
    stop.abort();
    throw error;
  } finally {
    await recorded;
  }
}

/**
 * Records the output of a process on a terminal, and the sizes of the terminal, until the process has ended or the
 * signal is aborted.
 */
async function recordProcess(
  writer: CastWriter,
  remote: RemoteProcess,
  { terminal, signal }: { readonly terminal: LocalTerminal; readonly signal: AbortSignal },
): Promise<void> {
  // A character may be divided between two pieces.
  const decoder = new TextDecoder();
  let sizeChange = Promise.resolve();
  const unlisten = terminal.onResize(() => {
    const { size } = terminal;
    if (size !== undefined)
      sizeChange = sizeChange.then(() => writer.event("r", `${size.cols}x${size.rows}`)).catch(() => {});
  });
  try {
    for await (const { bytes } of remote.output({ signal, onGap: () => {} })) {
      const text = decoder.decode(bytes, { stream: true });
      if (text !== "") await writer.event("o", text);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    unlisten();
    await sizeChange;
    await writer.end();
  }
}
