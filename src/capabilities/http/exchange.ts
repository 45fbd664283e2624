import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type { Header } from "./header.ts";

/** Receives the body of a response. */
export interface BodySink {
  data(bytes: Buffer): void;
  /** Called once, with the failure if the body is incomplete. */
  end(failure?: Error): void;
}

export interface ResponseHead {
  readonly status: number;
  /** In the order received, with names in lower case; each character is one byte. */
  readonly headers: readonly Header[];
}

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In sending order; repeats follow the first header of their name. */
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

/** Headers with repeats after the first one of their name, and a body as received, without decompression. */
export type HttpResponse = ResponseHead & Pick<Exchange, "readBody" | "pause" | "resume">;

/** What an exchange needs from its connection. */
export interface Carrier {
  /** Stops reading from the upstream server. Data from the current read is still delivered. */
  pause(): void;
  /** Resumes reading; buffered data is delivered at once. */
  resume(): void;
}

interface ExchangeEvents {
  /** Exactly one of `head` and `failed` is called, once. */
  head(head: ResponseHead): void;
  failed(failure: Error): void;
  /** The response is complete and valid. */
  complete(): void;
  /** No more data will arrive. */
  broken(): void;
}

/** Maximum size of one head. Undici counts only names and values, which can be a quarter of it. */
export const MAX_HEAD_BYTES = 256 * 1024;
/** Maximum size of one read, in which a head can end. */
const MAX_READ_BYTES = 128 * 1024;
/** Maximum number of 1xx responses before the final one; more would be useless. */
const MAX_INTERIM_HEADS = 10_000;
const BODYLESS: ReadonlySet<number> = new Set([204, 304]);
const LENGTH_MISMATCH = "UND_ERR_RES_CONTENT_LENGTH_MISMATCH";
/** Undici does not reject control characters in the status line. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
const TAB = 9;
const BLANK = 32;

/**
 * One request and its response. Until the body is taken, at most one read is buffered, and the upstream server waits.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** An idle connection may still reference its last exchange, so the exchange must drop what it has collected. */
  #events: ExchangeEvents | undefined;
  #carrier: Carrier | undefined;
  #untouched = true;
  #headCame = false;
  #hasNoBody = false;
  #interimHeads = 0;
  #headBytes = 0;
  #sink: BodySink | undefined;
  #held: Buffer[] = [];
  #paused = false;
  #over = false;
  #failure: Error | undefined;

  constructor(events: ExchangeEvents) {
    this.#events = events;
  }

  /** True if no byte of a response has arrived. */
  get untouched(): boolean {
    return this.#untouched;
  }

  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier;
  }

  /** Counts received bytes. False if the head has become too long. */
  came(bytes: number): boolean {
    if (!this.#headCame) this.#headBytes += bytes;
    return this.#headBytes <= MAX_HEAD_BYTES + MAX_READ_BYTES;
  }

  /**
   * Hands over the body; call it once. Like `resume`, it must not be called while undici delivers data of another body.
   */
  readBody(sink: BodySink): void {
    for (const bytes of this.#held.splice(0)) sink.data(bytes);
    if (this.#over) {
      sink.end(this.#failure);
      return;
    }
    this.#sink = sink;
    // The sink may have paused it again.
    if (!this.#paused) this.#carrier?.resume();
  }

  pause(): void {
    if (this.#over) return;
    this.#paused = true;
    this.#carrier?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#carrier?.resume();
  }

  /** Fails the exchange and closes its connection. */
  abort(reason: Error): void {
    this.#finish(reason);
  }

  // Undici calls the methods below.

  /** Marks this as undici's current kind of handler. */
  onRequestStart(): void {}

  onResponseStarted(): void {
    this.#untouched = false;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _: unknown,
    reason?: string,
  ): void {
    if (this.#over) return;
    if (reason !== undefined && CONTROL.test(reason)) {
      this.abort(new Error("the status line has a control character"));
      return;
    }
    if (status < 200) {
      this.#interimHeads += 1;
      this.#headBytes = 0;
      if (this.#interimHeads > MAX_INTERIM_HEADS) this.abort(new Error("too many interim responses"));
      return;
    }
    this.#headCame = true;
    this.#hasNoBody = BODYLESS.has(status);
    // Wait until the body is taken.
    this.#carrier?.pause();
    this.#events?.head({ status, headers: readHeaders(controller.rawHeaders) });
  }

  /** The server switches protocols: treat its head as the response. */
  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    status: number,
    _: unknown,
    socket: Duplex,
  ): void {
    socket.destroy();
    if (this.#over) return;
    this.#headCame = true;
    const events = this.#events;
    events?.head({ status, headers: readHeaders(controller.rawHeaders) });
    this.#over = true;
    this.#events = undefined;
    events?.broken();
  }

  onResponseData(_: unknown, bytes: Buffer): void {
    if (this.#over) return;
    if (this.#sink === undefined) this.#held.push(bytes);
    else this.#sink.data(bytes);
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_: unknown, failure: Error & { code?: string }): void {
    // Such a head may state the length that a body would have had. Undici then ends the connection.
    if (this.#hasNoBody && failure.code === LENGTH_MISMATCH) this.#finish(undefined);
    else this.#finish(failure);
  }

  #finish(failure: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#carrier = undefined;
    const [events, sink] = [this.#events, this.#sink];
    this.#events = undefined;
    this.#sink = undefined;
    if (failure === undefined) events?.complete();
    else events?.broken();
    if (this.#headCame) sink?.end(failure);
    else events?.failed(failure ?? new Error("the response has no head"));
  }
}

/** Undici passes names and values alternately, as bytes. */
function readHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): Header[] {
  const headers: Header[] = [];
  if (!Array.isArray(raw)) return headers;
  for (let index = 0; index + 1 < raw.length; index += 2)
    headers.push([textOf(raw[index]!).toLowerCase(), trimEnd(textOf(raw[index + 1]!))]);
  return headers;
}

function textOf(bytes: Buffer | string): string {
  return typeof bytes === "string" ? bytes : bytes.toString("latin1");
}

/** A loop, because a regular expression would restart at each blank. */
function trimEnd(value: string): string {
  let end = value.length;
  while (end > 0 && (value.charCodeAt(end - 1) === BLANK || value.charCodeAt(end - 1) === TAB)) end -= 1;
  return end === value.length ? value : value.slice(0, end);
}
