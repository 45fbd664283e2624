import type { ProcessEvent } from "../capabilities/process/output-log.ts";

/** Below this, a string is cheaper than a buffer. */
const SMALL_OUTPUT_BYTES = 4 * 1024;
/** Fits one read of 64 KiB in base64 and the rest of its message. */
const POOLED_BYTES = 90 * 1024;
const MAX_POOLED_BUFFERS = 64;

export interface EncodedEvent {
  readonly message: string | Uint8Array;
  /** Gives the buffer back; called when the message has been sent. */
  readonly release?: () => void;
}

/** Turns events into notifications. Bulk output is written as base64 into buffers that are used again. */
export class EventEncoder {
  readonly #free: Buffer[] = [];

  /** `processIdJson` is the process id as JSON. */
  encode(processIdJson: string, event: ProcessEvent): EncodedEvent {
    switch (event.kind) {
      case "output":
        return this.#encodeOutput(processIdJson, event);
      case "exited":
        return {
          message: `{"method":"process/exited","params":{"processId":${processIdJson},"seq":${event.seq},"exitCode":${event.exitCode},"sandboxDenied":false}}`,
        };
      case "closed":
        return {
          message: `{"method":"process/closed","params":{"processId":${processIdJson},"seq":${event.seq}}}`,
        };
    }
  }

  #encodeOutput(processIdJson: string, event: Extract<ProcessEvent, { kind: "output" }>): EncodedEvent {
    const prefix = `{"method":"process/output","params":{"processId":${processIdJson},"seq":${event.seq},"stream":"${event.stream}","chunk":"`;
    const base64 = toBuffer(event.bytes).toString("base64");
    if (event.bytes.length < SMALL_OUTPUT_BYTES) return { message: `${prefix}${base64}"}}` };
    const size = Buffer.byteLength(prefix) + base64.length + 3;
    const buffer =
      size <= POOLED_BYTES
        ? (this.#free.pop() ?? Buffer.allocUnsafeSlow(POOLED_BYTES))
        : Buffer.allocUnsafeSlow(size);
    let end = buffer.write(prefix, 0);
    end += buffer.write(base64, end, "latin1");
    end += buffer.write('"}}', end, "latin1");
    return { message: buffer.subarray(0, end), release: () => this.#recycle(buffer) };
  }

  #recycle(buffer: Buffer): void {
    if (buffer.length === POOLED_BYTES && this.#free.length < MAX_POOLED_BUFFERS) this.#free.push(buffer);
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
