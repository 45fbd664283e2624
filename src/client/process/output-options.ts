import { UsageError } from "../../base/errors.ts";
import type { Gap, OutputChunk } from "../routes/process-events.ts";

/** How to read output. */
export interface OutputOptions {
  /** Ends reading with the signal's reason. The process continues. */
  readonly signal?: AbortSignal;
  /**
   * Called where output is missing that the server no longer had. Without it, missing output is an error with the code
   * OUTPUT_LOST.
   */
  readonly onGap?: (gap: Gap) => void;
  /** Called with the number of events that this reader was too slow for; see `events`. */
  readonly onLag?: (events: number) => void;
  /** What to read: `both` streams, or one of them. A terminal has one, which counts as `stdout`. Default: `both`. */
  readonly stream?: OutputChoice;
}

/** One stream of output, or both. */
export type OutputChoice = "stdout" | "stderr" | "both";

const STREAMS: Readonly<Record<OutputChoice, readonly OutputChunk["stream"][] | undefined>> = {
  stdout: ["stdout", "pty"],
  stderr: ["stderr"],
  both: undefined,
};

/** The streams of a choice; undefined for all. */
export function streamsOf(stream: OutputChoice): readonly OutputChunk["stream"][] | undefined {
  if (Object.hasOwn(STREAMS, stream)) return STREAMS[stream];
  throw new UsageError(`stream must be stdout, stderr or both, not ${stream}`);
}
