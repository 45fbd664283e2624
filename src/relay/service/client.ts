import type { Admission } from "./admissions.ts";

/** A socket of a relay. */
export interface FrameSocket {
  /** Bytes that wait to be sent. */
  readonly queuedBytes: number;
  send(frame: Buffer): void;
  /** Stops and restarts reading. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
}

/** A client that is connected: it has one stream. */
export interface Client extends Admission {
  readonly socket: FrameSocket;
  /** Undefined until its first frame. */
  streamId: string | undefined;
  hasSentHandshake: boolean;
  /** The executor has answered its handshake. */
  isOpen: boolean;
  /** When its socket last took something. */
  tookAt: number;
}
