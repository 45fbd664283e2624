import type { ResponseHead } from "./response-head.ts";

/** Takes the body of a response. */
export interface BodySink {
  /** The bytes are valid during the call only. */
  data(bytes: Buffer): void;
  /** Called once, with what went wrong if the body is not complete. */
  end(failure?: Error): void;
}

/** What an exchange needs of the connection that carries it. */
export interface Carrier {
  /** Stops and restarts the reading from the upstream server. */
  pause(): void;
  resume(): void;
  /** Ends the connection. */
  destroy(): void;
}

/** One request and its response. Until somebody takes the body, at most what one read brought is kept, and the upstream server waits. */
export class Exchange {
  readonly #onHead: (head: ResponseHead) => void;
  readonly #onFailure: (failure: Error) => void;
  #carrier: Carrier | undefined;
  #untouched = true;
  #headCame = false;
  #sink: BodySink | undefined;
  #held: Buffer[] = [];
  #over = false;
  #failure: Error | undefined;

  /** One of the two is called, once. */
  constructor(onHead: (head: ResponseHead) => void, onFailure: (failure: Error) => void) {
    this.#onHead = onHead;
    this.#onFailure = onFailure;
  }

  /** True when not a byte of a response has come. */
  get untouched(): boolean {
    return this.#untouched;
  }

  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier;
  }

  /** Hands over the body; to be called once. */
  readBody(sink: BodySink): void {
    this.#sink = sink;
    for (const bytes of this.#held.splice(0)) sink.data(bytes);
    if (this.#over) sink.end(this.#failure);
    else this.#carrier?.resume();
  }

  pause(): void {
    if (!this.#over) this.#carrier?.pause();
  }

  resume(): void {
    if (!this.#over) this.#carrier?.resume();
  }

  abort(reason: Error): void {
    if (this.#over) return;
    const carrier = this.#carrier;
    this.fail(reason);
    carrier?.destroy();
  }

  // From here on it is the connection that speaks.

  touch(): void {
    this.#untouched = false;
  }

  head(head: ResponseHead): void {
    this.#headCame = true;
    this.#onHead(head);
  }

  data(bytes: Buffer): void {
    if (this.#sink !== undefined) this.#sink.data(bytes);
    else this.#held.push(Buffer.from(bytes));
  }

  /** After all that one read brought. */
  readDone(): void {
    if (this.#headCame && this.#sink === undefined && !this.#over) this.#carrier?.pause();
  }

  end(): void {
    this.#finish(undefined);
  }

  fail(failure: Error): void {
    this.#finish(failure);
  }

  #finish(failure: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#carrier = undefined;
    if (!this.#headCame) this.#onFailure(failure ?? new Error("the response has no head"));
    else this.#sink?.end(failure);
  }
}
