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

interface ExchangeEvents {
  /** Either the head or the failure is told, once. */
  head(head: ResponseHead): void;
  failed(failure: Error): void;
  /** The response is complete and nothing was wrong with it. */
  complete(): void;
  /** Nothing more will come. */
  broken(): void;
}

/** Answers 1xx before the answer; nobody has use for more. */
const MAX_INTERIM_HEADS = 10_000;
const TAB = 9;
const BLANK = 32;

/** One request and its response. Until somebody takes the body, at most what one read brought is kept, and the upstream server waits. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #events: ExchangeEvents;
  #controller: Dispatcher.DispatchController | undefined;
  #untouched = true;
  #headCame = false;
  #interimHeads = 0;
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

  /** Hands over the body; to be called once. Like `resume`, not while undici hands over a piece of another one. */
  readBody(sink: BodySink): void {
    this.#sink = sink;
    for (const bytes of this.#held.splice(0)) sink.data(bytes);
    if (this.#over) sink.end(this.#failure);
    // The sink may have paused it again.
    else if (!this.#paused) this.#controller?.resume();
  }

  pause(): void {
    if (this.#over) return;
    this.#paused = true;
    this.#controller?.pause();
  }

  /** What is there already is handed over at once. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#controller?.resume();
  }

  /** Ends it with a failure, and the connection with it. */
  abort(reason: Error): void {
    this.#finish(reason);
  }

  // From here on it is undici that speaks.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStarted(): void {
    this.#untouched = false;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#over) return;
    if (status < 200) {
      this.#interimHeads += 1;
      if (this.#interimHeads > MAX_INTERIM_HEADS) this.abort(new Error("too many heads before the answer"));
      return;
    }
    this.#headCame = true;
    this.#events.head({ status, headers: readHeaders(controller.rawHeaders) });
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
    this.#events.head({ status, headers: readHeaders(controller.rawHeaders) });
    this.#over = true;
    this.#events.broken();
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#over) return;
    if (this.#sink !== undefined) {
      this.#sink.data(bytes);
      return;
    }
    this.#held.push(bytes);
    controller.pause();
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_: unknown, failure: Error): void {
    this.#finish(failure);
  }

  #finish(failure: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#controller = undefined;
    if (failure === undefined) this.#events.complete();
    else this.#events.broken();
    if (this.#headCame) this.#sink?.end(failure);
    else this.#events.failed(failure ?? new Error("the response has no head"));
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
