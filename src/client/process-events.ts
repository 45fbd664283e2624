import type { OutputStream, ExitReport as WireExitReport } from "../protocol/process.ts";

/** How a process ended, as far as it is known. A Codex server tells no more than the first two. */
export interface ExitReport extends Readonly<WireExitReport> {
  /** The exit status, or 128 + n after a death by signal n; null when the server did not say. */
  readonly exitCode: number | null;
  /** The server believes that its sandbox caused the end. */
  readonly sandboxDenied: boolean;
}

/** A piece of output. */
export interface OutputEvent {
  readonly kind: "output";
  readonly seq: number;
  readonly stream: OutputStream;
  readonly bytes: Uint8Array;
}

/** The process has ended; output may follow. */
export interface ExitedEvent extends ExitReport {
  readonly kind: "exited";
  readonly seq: number;
}

/** What an event tells of the end. */
export function reportOf({ kind: _kind, seq: _seq, ...report }: ExitedEvent): ExitReport {
  return report;
}

/** Events that the server no longer had when they were asked for again. */
export interface Gap {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** A gap, in its place among the other events. */
export interface GapEvent extends Gap {
  readonly kind: "gap";
  /** The same as `toSeq`: the number that has been reached. */
  readonly seq: number;
}

/** What happens to one process, each thing once and in the order of its number. */
export type NumberedEvent =
  | OutputEvent
  | ExitedEvent
  | { readonly kind: "closed"; readonly seq: number }
  | GapEvent;

/** The session was lost for good: nothing more will be known of the process. */
export interface FailedEvent {
  readonly kind: "failed";
  readonly message: string;
}

/** Everything that `RemoteProcess.events` tells. */
export type ProcessEvent = NumberedEvent | FailedEvent;

/** What an event counts against bounds. */
export function sizeOf(event: ProcessEvent): number {
  if (event.kind === "output") return event.bytes.length;
  return event.kind === "failed" ? event.message.length : 0;
}
