import { createHash } from "node:crypto";
import type { Notification } from "./session-client.ts";

interface Delta {
  requestId: string;
  seq: number;
  deltaBase64: string;
  done: boolean;
  error: string | null;
}

const MAX_DELTA_BYTES = 1024 * 1024;

/** The body of one streamed response, from its notifications. Throws at the first that is out of order. */
export class BodyRecord {
  readonly ended: Promise<string | null>;
  bytes = 0;
  #hash = createHash("sha256");
  #seq = 0;
  #isOver = false;
  #end: (error: string | null) => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor() {
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    this.ended.catch(() => {}); // whoever waits for it is told
  }

  add(delta: Delta): void {
    const bytes = Buffer.from(delta.deltaBase64, "base64");
    if (this.#isOver) this.#fail(new Error(`something came after the end: ${delta.seq}`));
    if (delta.seq !== this.#seq + 1) this.#fail(new Error(`seq ${delta.seq} came after ${this.#seq}`));
    if (bytes.length > MAX_DELTA_BYTES) this.#fail(new Error(`a delta of ${bytes.length} bytes`));
    this.#seq = delta.seq;
    this.bytes += bytes.length;
    this.#hash.update(bytes);
    if (!delta.done) return;
    this.#isOver = true;
    this.#end(delta.error);
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

/** The bodies of a connection, by request. */
export class BodyRecords {
  readonly #records = new Map<string, BodyRecord>();

  expect(requestId: string): BodyRecord {
    const record = new BodyRecord();
    this.#records.set(requestId, record);
    return record;
  }

  readonly onNotification = ({ method, params }: Notification): void => {
    if (method !== "http/request/bodyDelta") return;
    const delta = params as Delta;
    this.#records.get(delta.requestId)?.add(delta);
  };
}
