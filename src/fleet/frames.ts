// The frames of virtual connections; docs/fleet-protocol.md describes them.

export const FrameKind = {
  /** A piece of a message that continues in the next frame. */
  piece: 1,
  /** The last or only piece of a message. */
  last: 2,
  /** The last frame. */
  end: 3,
  /** Progress: received, allowed to send, and sent. */
  state: 4,
  /** The connection does not exist any more. */
  abort: 5,
  dial: 6,
  accept: 7,
  refuse: 8,
} as const;

/** A numbered frame: kind, its position, and what its sender has received and admits. */
export const HEADER_BYTES = 19;
const POSITION = 1;
const RECEIVED = 7;
const LIMIT = 13;
const STATE_BYTES = 20;
const STATE_FLAGS = 19;
/** The sender of the state misses frames from `received` on. */
const RESEND = 1;
/** The sender of the state waits for the state of its peer. */
const ASK = 2;
const MAX_REASON_BYTES = 512;

/** Progress of one direction: bytes received in order, and the position up to which the peer may send. */
export interface Progress {
  readonly received: number;
  readonly limit: number;
}

/** One end's report about both directions. */
export interface State extends Progress {
  /** Position of the next frame that this end will number. */
  readonly sent: number;
  readonly resend: boolean;
  readonly ask: boolean;
}

/** A numbered frame with room for its body, in memory of `allocate`. */
export function numberedFrame(
  kind: number,
  position: number,
  bodyBytes: number,
  allocate: (bytes: number) => Buffer = (bytes) => Buffer.allocUnsafe(bytes),
): Buffer {
  const frame = allocate(HEADER_BYTES + bodyBytes);
  frame[0] = kind;
  frame.writeUIntBE(position, POSITION, 6);
  return frame;
}

/** Every numbered frame carries the newest progress when it is sent, or sent again. */
export function stampProgress(frame: Buffer, { received, limit }: Progress): void {
  frame.writeUIntBE(received, RECEIVED, 6);
  frame.writeUIntBE(limit, LIMIT, 6);
}

export function readProgress(frame: Buffer): Progress {
  return { received: frame.readUIntBE(RECEIVED, 6), limit: frame.readUIntBE(LIMIT, 6) };
}

export function readPosition(frame: Buffer): number {
  return frame.readUIntBE(POSITION, 6);
}

export function stateFrame({ received, limit, sent, resend, ask }: State): Buffer {
  const frame = Buffer.allocUnsafe(STATE_BYTES);
  frame[0] = FrameKind.state;
  // A numbered frame has the position of the next one here.
  frame.writeUIntBE(sent, POSITION, 6);
  stampProgress(frame, { received, limit });
  frame[STATE_FLAGS] = (resend ? RESEND : 0) | (ask ? ASK : 0);
  return frame;
}

export function readState(frame: Buffer): State | undefined {
  if (frame.length !== STATE_BYTES) return undefined;
  const flags = frame[STATE_FLAGS]!;
  return {
    ...readProgress(frame),
    sent: readPosition(frame),
    resend: (flags & RESEND) !== 0,
    ask: (flags & ASK) !== 0,
  };
}

/** The body of an end, or the rest of an abort. */
export function reasonBytes(reason: string): Buffer {
  return Buffer.from(reason).subarray(0, MAX_REASON_BYTES);
}

export function readReason(bytes: Buffer): string {
  return bytes.toString("utf8", 0, MAX_REASON_BYTES);
}

export function abortFrame(reason: string): Buffer {
  return Buffer.concat([Buffer.of(FrameKind.abort), reasonBytes(reason)]);
}

/** A frame whose body is JSON: dial, accept and refuse. */
export function jsonFrame(kind: number, value: object): Buffer {
  return Buffer.concat([Buffer.of(kind), Buffer.from(JSON.stringify(value))]);
}

/** The JSON object in such a frame; empty if there is none. */
export function readJson(frame: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(frame.toString("utf8", 1));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
