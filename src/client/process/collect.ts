import { HeadTail, omittedLine } from "./head-tail.ts";
import { errorOf, type ExitReport, type Gap, reportOf } from "../routes/process-events.ts";
import type { ProcessRoute } from "../routes/process-route.ts";

const DEFAULT_MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Maximum number of separate gaps; beyond it, the last one grows. */
const MAX_GAPS = 1024;

/** How much output to keep. */
export interface CollectOptions {
  /** Bytes kept per stream: half from its beginning, half from its end. Default: 16 MiB. */
  readonly maxOutputBytes?: number;
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
  options: CollectOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<Collected> {
  const begun = performance.now();
  const { signal } = options;
  const maxBytes = options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
  const stdout = new HeadTail({ maxBytes });
  const stderr = new HeadTail({ maxBytes });
  const gaps: Gap[] = [];
  let exit: ExitReport = { exitCode: null, sandboxDenied: false };
  for await (const event of route.subscribe(signal === undefined ? {} : { signal })) {
    if (event.kind === "output") (event.stream === "stderr" ? stderr : stdout).push(event.bytes);
    else if (event.kind === "exited") exit = reportOf(event);
    else if (event.kind === "gap") addGap(gaps, event);
    else if (event.kind === "failed") throw errorOf(event);
  }
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

function addGap(gaps: Gap[], { fromSeq, toSeq }: Gap): void {
  const last = gaps.at(-1);
  if (last !== undefined && gaps.length === MAX_GAPS) gaps[MAX_GAPS - 1] = { fromSeq: last.fromSeq, toSeq };
  else gaps.push({ fromSeq, toSeq });
}
