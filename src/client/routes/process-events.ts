import { ConnectionError, type ErrorCode, ExecError, ProtocolError } from "../../base/errors.ts";
import type { OutputStream, ExitReport as WireExitReport } from "../../protocol/process.ts";

/** Far longer than any signal name. */
const MAX_SIGNAL_CHARACTERS = 64;

/** How a process ended, as far as known. A Codex server reports only the first two members. */
export interface ExitReport extends Readonly<WireExitReport> {
  /** Exit status, or 128 + n if signal n ended the process; null if the server did not report it. */
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

/** The part of it that readers of output get. The caller may keep `bytes`. */
export type OutputChunk = Pick<OutputEvent, "stream" | "bytes" | "seq">;

/** The process has ended; output may follow. */
export interface ExitedEvent extends ExitReport {
  readonly kind: "exited";
  readonly seq: number;
}

/** The exit event from a server's report. Throws a ProtocolError if the report is impossible. */
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

/** The exit report of an event. */
export function reportOf({ kind: _kind, seq: _seq, ...report }: ExitedEvent): ExitReport {
  return report;
}

/** Events that the server no longer had when they were requested again. */
export interface Gap {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** A gap, at its place among the other events. */
export interface GapEvent extends Gap {
  readonly kind: "gap";
  /** Same as `toSeq`: the number that has been reached. */
  readonly seq: number;
}

/** Events of one process, each once and in order of its number. */
export type NumberedEvent =
  | OutputEvent
  | ExitedEvent
  | { readonly kind: "closed"; readonly seq: number }
  | GapEvent;

/** Nothing more can be learned about the process: the session was lost, or the server sent something impossible. */
export interface FailedEvent {
  readonly kind: "failed";
  readonly message: string;
  /** Code of the error that everything else rejects with. */
  readonly code: ErrorCode;
}

/** The process runs. Only `Host.events` yields it, and only if `connect` asked for it with `reportStarts`. */
export interface StartedEvent {
  readonly kind: "started";
  /** The process's number on the server's machine. */
  readonly pid: number;
}

/** The error for a reader that wants output, not events. */
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

/** Everything that `RemoteProcess.events` yields. */
export type ProcessEvent = NumberedEvent | FailedEvent;

/** Size of an event, as counted against limits. */
export function sizeOf(event: ProcessEvent | StartedEvent): number {
  if (event.kind === "output") return event.bytes.length;
  return event.kind === "failed" ? event.message.length : 0;
}
