import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { messageOf } from "../../base/errors.ts";
import { parseJson } from "../../protocol/json-scan.ts";

/** Why a body cannot be used, as an answer in HTTP and in JSON-RPC. */
export interface BodyFault {
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

export interface BodyLimits {
  readonly maxBytes: number;
  /** Of all bodies that are arriving. */
  readonly maxTotalBytes: number;
  /** Of those with the same key. */
  readonly maxBytesPerKey: number;
  readonly timeoutMs: number;
}

const PARSE_ERROR = -32_700;
const REFUSED = -32_000;
const MIN_BUFFER_BYTES = 16 * 1024;
/** A body that is too long is read to its end, so that the client reads the answer; but not a longer one. */
const MAX_DISCARDED_BYTES = 512 * 1024 * 1024;

/** Reads the bodies of requests, with bounds for each, for those of one client, and for all. */
export class Bodies {
  readonly #limits: BodyLimits;
  readonly #bytesByKey = new Map<string, number>();
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Rejects if the client goes. */
  async read(
    request: IncomingMessage,
    key: string,
  ): Promise<{ readonly value: unknown } | { readonly fault: BodyFault }> {
    const arrived = await this.#collect(request, key);
    if ("fault" in arrived) return arrived;
    try {
      if (!isUtf8(arrived.bytes)) throw new Error("it is not UTF-8");
      return { value: parseJson(new TextDecoder().decode(arrived.bytes)).value };
    } catch (error) {
      const message = `the body is not JSON that can be read: ${messageOf(error)}`;
      return { fault: { status: 400, code: PARSE_ERROR, message } };
    }
  }

  async #collect(
    request: IncomingMessage,
    key: string,
  ): Promise<{ readonly bytes: Uint8Array } | { readonly fault: BodyFault }> {
    const { maxBytes, timeoutMs } = this.#limits;
    let buffer = Buffer.alloc(0);
    let length = 0;
    let fault: BodyFault | undefined;
    const timer = setTimeout(() => request.destroy(new Error("the body did not arrive in time")), timeoutMs);
    try {
      for await (const piece of request as AsyncIterable<Uint8Array>) {
        const start = length;
        length += piece.length;
        if (length > MAX_DISCARDED_BYTES) request.destroy();
        if (fault !== undefined) continue;
        if (length > buffer.length) {
          const size = Math.min(maxBytes, Math.max(MIN_BUFFER_BYTES, 2 * length));
          fault = length > maxBytes ? tooLong(maxBytes) : this.#take(key, size - buffer.length);
          const larger = Buffer.allocUnsafe(fault === undefined ? size : 0);
          if (fault === undefined) buffer.copy(larger);
          else this.#give(key, buffer.length);
          buffer = larger;
        }
        if (fault === undefined) buffer.set(piece, start);
      }
      return fault === undefined ? { bytes: buffer.subarray(0, length) } : { fault };
    } finally {
      clearTimeout(timer);
      this.#give(key, buffer.length);
    }
  }

  /** Counts memory, or says why there is no more. */
  #take(key: string, bytes: number): BodyFault | undefined {
    const { maxTotalBytes, maxBytesPerKey } = this.#limits;
    const ofKey = (this.#bytesByKey.get(key) ?? 0) + bytes;
    if (this.#bytes + bytes > maxTotalBytes || ofKey > maxBytesPerKey) return TOO_MUCH;
    this.#bytes += bytes;
    this.#bytesByKey.set(key, ofKey);
    return undefined;
  }

  #give(key: string, bytes: number): void {
    this.#bytes -= bytes;
    const ofKey = (this.#bytesByKey.get(key) ?? 0) - bytes;
    if (ofKey > 0) this.#bytesByKey.set(key, ofKey);
    else this.#bytesByKey.delete(key);
  }
}

const tooLong = (maxBytes: number): BodyFault => ({
  status: 413,
  code: REFUSED,
  message: `the message is longer than ${maxBytes} bytes; send less at once`,
});

const TOO_MUCH: BodyFault = {
  status: 503,
  code: REFUSED,
  message: "too many long messages are arriving at once; try again",
};
