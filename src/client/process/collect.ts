import { HeadTail, omittedLine } from "./head-tail.ts";
import { errorOf, type ExitReport, type Gap, reportOf } from "./process-events.ts";
import type { ProcessRoute } from "./process-route.ts";

const DEFAULT_MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Nobody loses output more often; beyond it the last gap grows. */
const MAX_GAPS = 1024;

/** How much of the output is kept. */
export interface CollectOptions {
  /** Bytes kept of each stream: its beginning and its end, half and half. 16 MiB unless told. */
  readonly maxOutputBytes?: number;
}

/** What a process wrote, and how it ended. */
export interface Collected {
  /** As text; on a terminal, all that the terminal showed. Where bytes were left out, a line says how many. */
  readonly stdout: string;
  readonly stderr: string;
  /** The same without decoding, and without that line. */
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;
  readonly stdoutOmittedBytes: number;
  readonly stderrOmittedBytes: number;
  /** The exit status, or 128 + n after a death by signal n; null when the server did not say. */
  readonly exitCode: number | null;
  /** How it ended, as far as the server said. */
  readonly exit: ExitReport;
  /** Output that was lost while the connection was. Empty but for very long breaks. */
  readonly gaps: readonly Gap[];
  /** From the start, or from the call, to the end of the output. */
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
