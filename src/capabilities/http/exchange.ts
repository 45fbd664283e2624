import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type { Header } from "./header.ts";

/** Takes the body of a response. */
export interface BodySink {
  data(bytes: Buffer): void;
  /** Called once, with what went wrong if the body is not complete. */
  end(failure?: Error): void;
}

export interface ResponseHead {
  readonly status: number;
  /** In the order they came, names in lower case; each character is one byte. */
  readonly headers: readonly Header[];
}

/** What an exchange needs of the connection that carries it. */
export interface Carrier {
  /** Stops the reading from the upstream server. What one read has brought is still told. */
  pause(): void;
  /** Goes on reading: what is there already is told at once. */
  resume(): void;
}

interface ExchangeEvents {
  /** Either the head or the failure is told, once. */
  head(head: ResponseHead): void;
  failed(failure: Error): void;
  /** The response is complete and nothing was wrong with it. */
  complete(): void;
  /** Nothing more will come. */
  broken(): void;
}

/** Bytes of one head; undici counts those of names and values only, which can be a quarter of them. */
export const MAX_HEAD_BYTES = 256 * 1024;
/** What a socket may give at once, in which a head can end. */
const MAX_READ_BYTES = 128 * 1024;
/** Answers 1xx before the answer; nobody has use for more. */
const MAX_INTERIM_HEADS = 10_000;
const BODYLESS: ReadonlySet<number> = new Set([204, 304]);
const LENGTH_MISMATCH = "UND_ERR_RES_CONTENT_LENGTH_MISMATCH";
/** Undici does not look for them in the status line. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
const TAB = 9;
const BLANK = 32;

/** One request and its response. Until somebody takes the body, at most what one read brought is kept, and the upstream server waits. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** A connection that waits for its next exchange may keep the last one: what that has gathered must not be kept with it. */
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

  /** True when not a byte of a response has come. */
  get untouched(): boolean {
    return this.#untouched;
  }

  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier;
  }

  /** So many bytes have come from the server. False when its head has become too long. */
  came(bytes: number): boolean {
    if (!this.#headCame) this.#headBytes += bytes;
    return this.#headBytes <= MAX_HEAD_BYTES + MAX_READ_BYTES;
  }

  /** Hands over the body; to be called once. Like `resume`, not while undici hands over a piece of another one. */
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

  /** Ends it with a failure, and the connection with it. */
  abort(reason: Error): void {
    this.#finish(reason);
  }

  // From here on it is undici that speaks.

  /** Undici tells a handler of this kind by it. */
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
      if (this.#interimHeads > MAX_INTERIM_HEADS) this.abort(new Error("too many heads before the answer"));
      return;
    }
    this.#headCame = true;
    this.#hasNoBody = BODYLESS.has(status);
    // Until somebody takes the body.
    this.#carrier?.pause();
    this.#events?.head({ status, headers: readHeaders(controller.rawHeaders) });
  }

  /** Another protocol follows: for us the answer is its head. */
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
    // Such a head may tell the length that the body would have had. Undici ends the connection then.
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

/** Undici gives names and values in turn, as bytes. */
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

/** By hand: a regular expression would begin anew at each blank. */
function trimEnd(value: string): string {
  let end = value.length;
  while (end > 0 && (value.charCodeAt(end - 1) === BLANK || value.charCodeAt(end - 1) === TAB)) end -= 1;
  return end === value.length ? value : value.slice(0, end);
}
