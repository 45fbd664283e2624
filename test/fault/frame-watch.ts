import type { Socket } from "node:net";

/** Observes the frames of an upgraded connection that something else reads. Attach it between two frames. */
export class FrameWatch {
  /** Payload bytes of each data frame, finished or not. */
  readonly lengths: number[] = [];
  #header = Buffer.alloc(0);
  #payloadLeft = 0;

  constructor(socket: Socket) {
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
  }

  #take(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const skipped = Math.min(this.#payloadLeft, bytes.length - at);
      this.#payloadLeft -= skipped;
      at += skipped;
      if (at === bytes.length) return;
      this.#header = Buffer.concat([this.#header, bytes.subarray(at, at + 1)]);
      at += 1;
      const length = frameLength(this.#header);
      if (length === undefined) continue;
      const opcode = (this.#header[0] ?? 0) & 0x0f;
      if (opcode <= 2) this.lengths.push(length);
      this.#payloadLeft = length;
      this.#header = Buffer.alloc(0);
    }
  }
}

/** Servers do not mask. Undefined while the header is not complete. */
function frameLength(header: Buffer): number | undefined {
  if (header.length < 2) return undefined;
  const short = (header[1] ?? 0) & 0x7f;
  if (short < 126) return short;
  if (short === 126) return header.length < 4 ? undefined : header.readUInt16BE(2);
  return header.length < 10 ? undefined : Number(header.readBigUInt64BE(2));
}
