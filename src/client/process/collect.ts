import { abortable } from "../../base/deadlines.ts";
import { ExecError } from "../../base/errors.ts";
import { HeadTail, omittedLine } from "./head-tail.ts";
import { type InputSource, isInputSource } from "./input-source.ts";
import { errorOf, type ExitReport, type Gap, reportOf } from "../routes/process-events.ts";
import type { ProcessRoute } from "../routes/process-route.ts";

const DEFAULT_MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Maximum number of separate gaps; beyond it, the last one grows. */
const MAX_GAPS = 1024;
/** Errors of input that a process did not want, or that the collection reports itself. */
const HARMLESS = ["STDIN_CLOSED", "NOT_FOUND", "RPC_ERROR", "CONNECTION_CLOSED", "SESSION_LOST"];

/** How much output to keep. */
export interface CollectOptions {
  /** Bytes kept per stream: half from its beginning, half from its end. Default: 16 MiB. */
  readonly maxOutputBytes?: number;
}

/** Callbacks for output as it arrives. */
export interface OutputCallbacks {
  /**
   * Receives the text of stdout as it arrives, never half a character. The process waits if a promise that this returns
   * takes long; if it throws, the process is ended and `run` rejects.
   */
  readonly onStdout?: (text: string) => unknown;
  /** The same for stderr. */
  readonly onStderr?: (text: string) => unknown;
}

/** Output and exit of a process. */
export interface Collected {
  /** As text; on a terminal, everything the terminal showed. A line says how many bytes were omitted, if any. */
  readonly stdout: string;
  readonly stderr: string;
  /** The raw bytes, without that line. */
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;
  readonly stdoutOmittedBytes: number;
  readonly stderrOmittedBytes: number;
  /** Exit status, or 128 + n if signal n ended the process; null if the server did not report it. */
  readonly exitCode: number | null;
  /** Whether the server believes that its sandbox made the command fail. Always false without a sandbox. */
  readonly sandboxDenied: boolean;
  /** How it ended, as far as the server reported it. */
  readonly exit: ExitReport;
  /** Output lost while the connection was down. Empty except after very long interruptions. */
  readonly gaps: readonly Gap[];
  /** From the start of the process, or from the call, to the end of the output. */
  readonly durationMs: number;
}

/** Follows a process to the end of its output. */
export async function collect(
  route: ProcessRoute,
  options: CollectOptions & OutputCallbacks & { readonly signal?: AbortSignal | undefined } = {},
): Promise<Collected> {
  const begun = performance.now();
  const { signal, onStdout, onStderr } = options;
  const maxBytes = options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
  const stdout = new HeadTail({ maxBytes });
  const stderr = new HeadTail({ maxBytes });
  const gaps: Gap[] = [];
  let exit: ExitReport = { exitCode: null, sandboxDenied: false };
  const tellStdout = textTo(onStdout);
  const tellStderr = textTo(onStderr);
  for await (const event of route.subscribe({ signal })) {
    if (event.kind === "output") {
      const isError = event.stream === "stderr";
      (isError ? stderr : stdout).push(event.bytes);
      const tell = isError ? tellStderr : tellStdout;
      if (tell !== undefined) await tell(event.bytes);
    } else if (event.kind === "exited") exit = reportOf(event);
    else if (event.kind === "gap") addGap(gaps, event);
    else if (event.kind === "failed") throw errorOf(event);
  }
  await tellStdout?.();
  await tellStderr?.();
  return {
    stdout: stdout.text({ marker: omittedLine }),
    stderr: stderr.text({ marker: omittedLine }),
    stdoutBytes: stdout.bytes(),
    stderrBytes: stderr.bytes(),
    stdoutOmittedBytes: stdout.omittedBytes,
    stderrOmittedBytes: stderr.omittedBytes,
    exitCode: exit.exitCode,
    sandboxDenied: exit.sandboxDenied,
    exit,
    gaps,
    durationMs: performance.now() - begun,
  };
}

/** Passes bytes on as text; without bytes, what is left of a character that was cut off. */
function textTo(callback: ((text: string) => unknown) | undefined) {
  if (callback === undefined) return undefined;
  const decoder = new TextDecoder();
  return async (bytes?: Uint8Array): Promise<void> => {
    const text = decoder.decode(bytes, { stream: bytes !== undefined });
    if (text !== "") await callback(text);
  };
}

/** The input side of a process. */
interface Fed {
  write(data: string | Uint8Array, options?: { signal?: AbortSignal }): Promise<void>;
  writeFrom(source: InputSource, options?: { end?: boolean; signal?: AbortSignal }): Promise<void>;
  closeStdin(options?: { signal?: AbortSignal }): Promise<void>;
}

/**
 * Writes all input to a process, and closes it if `close` is set, while its output is collected. A process may end, or
 * close its stdin, without reading everything; that is not an error.
 */
export function feed(
  process: Fed,
  input: string | Uint8Array | InputSource,
  { close, signal }: { close: boolean; signal: AbortSignal | undefined },
  collected: Promise<Collected>,
): Promise<Collected> {
  const options = signal === undefined ? {} : { signal };
  const fed = (async () => {
    if (isInputSource(input)) await process.writeFrom(input, { ...options, end: false });
    else await process.write(input, options);
    if (close) await process.closeStdin(options);
  })();
  const failure = new Promise<never>((_, reject) => {
    fed.catch((error: unknown) => {
      // The end of the session and an abort also end the collection, each in its own way.
      if (!signal?.aborted && !(error instanceof ExecError && HARMLESS.includes(error.code))) reject(error);
    });
  });
  return abortable(Promise.race([collected, failure]), signal);
}

function addGap(gaps: Gap[], { fromSeq, toSeq }: Gap): void {
  const last = gaps.at(-1);
  if (last !== undefined && gaps.length === MAX_GAPS) gaps[MAX_GAPS - 1] = { fromSeq: last.fromSeq, toSeq };
  else gaps.push({ fromSeq, toSeq });
}
