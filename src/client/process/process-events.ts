import { ConnectionError, type ErrorCode, ExecError, ProtocolError } from "../../base/errors.ts";
import type { OutputStream, ExitReport as WireExitReport } from "../../protocol/process.ts";

/** No name of a signal is nearly as long. */
const MAX_SIGNAL_CHARACTERS = 64;

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

/** What readers of output get of it. `bytes` are the caller's to keep. */
export type OutputChunk = Pick<OutputEvent, "stream" | "bytes" | "seq">;

/** The process has ended; output may follow. */
export interface ExitedEvent extends ExitReport {
  readonly kind: "exited";
  readonly seq: number;
}

/** The end of a process, of what a server told of it. Throws a ProtocolError when that cannot be. */
export function exitedEvent({
  exit,
  ...rest
}: Omit<ExitedEvent, "kind" | keyof WireExitReport> & {
  readonly exit: WireExitReport | undefined;
}): ExitedEvent {
  if ((exit?.signal?.length ?? 0) > MAX_SIGNAL_CHARACTERS)
    throw new ProtocolError(`a process ended by a signal whose name has ${exit!.signal!.length} characters`);
  return { kind: "exited", ...rest, ...exit };
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
interface GapEvent extends Gap {
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

/** Nothing more will be known of the process: the session was lost for good, or the server said what cannot be. */
export interface FailedEvent {
  readonly kind: "failed";
  readonly message: string;
  /** Of the error that everything else rejects with. */
  readonly code: ErrorCode;
}

/** What a reader is told that wants output, not events. */
export function errorOf({ message, code }: FailedEvent): ExecError {
  switch (code) {
    case "CONNECTION_CLOSED":
    case "SESSION_LOST":
    case "EFFECT_UNKNOWN":
    case "UNAUTHORIZED":
      return new ConnectionError(message, { code });
    case "PROTOCOL_ERROR":
      return new ProtocolError(message);
    default:
      return new ExecError(code, message);
  }
}

/** Everything that `RemoteProcess.events` tells. */
export type ProcessEvent = NumberedEvent | FailedEvent;

/** What an event counts against bounds. */
export function sizeOf(event: ProcessEvent): number {
  if (event.kind === "output") return event.bytes.length;
  return event.kind === "failed" ? event.message.length : 0;
}
