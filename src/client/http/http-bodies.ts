import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { ConnectionError, ExecError, ProtocolError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import type { NotificationParams } from "../../protocol/index.ts";
import { checkedParams } from "../calls/wire-check.ts";
import { decodeBytes } from "../calls/wire-bytes.ts";

const MAX_QUEUED_PIECES = 256;
/**
 * Small deltas share a piece up to this size: one socket read may deliver more of them than the queue has pieces,
 * before any reader runs.
 */
const MAX_SHARED_BYTES = 64 * 1024;
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Unread bytes at which the server is asked to pause a stream, and at which it may resume. */
const HOLD_BYTES = 1024 * 1024;
const RELEASE_BYTES = 256 * 1024;
const MAX_DELTA_BYTES = 1024 * 1024;

type BodyDelta = NotificationParams<"http/request/bodyDelta">;

/** Callbacks to the owner of the streams. */
export interface HttpBodiesOptions {
  /** Called with the id of an abandoned stream, so that the server can be asked to stop. */
  readonly cancel?: (requestId: string) => void;
  /** Asks the server to pause a stream whose reader is behind, or to resume it. */
  readonly hold?: (requestId: string, on: boolean) => void;
  /** Called when a stream has ended. */
  readonly ended?: (requestId: string) => void;
}

/**
 * The bodies that a connection's server is streaming. A reader that is behind applies back-pressure, if the server
 * supports it. Data that arrives anyway is limited to 256 pieces per stream and 16 MiB in total. A stream beyond these
 * limits fails; the others continue.
 */
export class HttpBodies {
  readonly #streams = new Map<string, BodyStream>();
  readonly #options: HttpBodiesOptions;
  readonly #budget: ByteBudget = { queuedBytes: 0 };
  #lastId = 0;

  constructor(options: HttpBodiesOptions = {}) {
    this.#options = options;
  }

  /** Number of streams that may still receive data. */
  get size(): number {
    return this.#streams.size;
  }

  /**
   * Registers the next stream, to be named in the request sent after this. Aborting the signal fails the stream with
   * its reason.
   */
  open(options: { readonly signal?: AbortSignal } = {}): BodyStream {
    this.#lastId += 1;
    const id = `http-${this.#lastId}`;
    const stream = new BodyStream(id, this.#budget, options.signal, {
      hold: (on) => this.#options.hold?.(id, on),
      unregister: (isUnwanted) => {
        this.#streams.delete(id);
        if (isUnwanted) this.#options.cancel?.(id);
        this.#options.ended?.(id);
      },
    });
    this.#streams.set(id, stream);
    stream.watchSignal();
    return stream;
  }

  /**
   * Takes the params of `http/request/bodyDelta`. Invalid params fail their stream; if they belong to none, throws a
   * ProtocolError.
   */
  receive(params: unknown): void {
    try {
      const delta = checkedParams("http/request/bodyDelta", params);
      this.#streams.get(delta.requestId)?.push(delta);
    } catch (error) {
      const requestId = (params as { requestId?: unknown } | null)?.requestId;
      const stream = typeof requestId === "string" ? this.#streams.get(requestId) : undefined;
      if (stream === undefined || !(error instanceof ProtocolError)) throw error;
      stream.fail(error, { isUnwanted: true });
    }
  }

  /** The connection is gone: every stream fails once its queue has been read. */
  failAll(message: string): void {
    for (const stream of this.#streams.values())
      stream.fail(new ConnectionError(`http response stream \`${stream.id}\` failed: ${message}`));
  }
}

/** Callbacks of a stream to its owner. */
interface StreamOwner {
  hold(on: boolean): void;
  unregister(isUnwanted: boolean): void;
}

/** Bytes held by all streams together. */
interface ByteBudget {
  queuedBytes: number;
}

/** One body, in order. It is unregistered when it ends, fails, or its reader leaves. */
export class BodyStream implements AsyncIterableIterator<Uint8Array> {
  /** The `requestId` of the wire. */
  readonly id: string;
  readonly #budget: ByteBudget;
  readonly #signal: AbortSignal | undefined;
  readonly #owner: StreamOwner;
  readonly #queue = new Fifo<Piece>();
  readonly #readers = new Fifo<Deferred<IteratorResult<Uint8Array, undefined>>>();
  readonly #abort = (): void => this.#drop({ error: this.#signal?.reason });
  #lastSeq = 0;
  #receivedBytes = 0;
  #expectedBytes: number | undefined;
  #queuedBytes = 0;
  #held = false;
  #isComplete = false;
  /** Nothing more will be queued. */
  #ended = false;
  /** Reported once, after the queue. */
  #failure: { readonly error: unknown } | undefined;

  constructor(id: string, budget: ByteBudget, signal: AbortSignal | undefined, owner: StreamOwner) {
    this.id = id;
    this.#budget = budget;
    this.#signal = signal;
    this.#owner = owner;
  }

  watchSignal(): void {
    this.#signal?.addEventListener("abort", this.#abort, { once: true });
    if (this.#signal?.aborted) this.#abort();
  }

  /** Throws a ProtocolError for an impossible delta. */
  push({ seq, deltaBase64, done, error }: BodyDelta): void {
    const expected = this.#lastSeq + 1;
    if (seq !== expected) {
      this.#failHere(`http response stream \`${this.id}\` received seq ${seq}, expected ${expected}`);
      return;
    }
    this.#lastSeq = seq;
    if (decodedLength(deltaBase64) > MAX_DELTA_BYTES)
      throw new ProtocolError(
        `http/request/bodyDelta: a delta of http response stream \`${this.id}\` exceeds ${MAX_DELTA_BYTES} bytes`,
      );
    const bytes = decodeBytes(deltaBase64, `a delta of http response stream \`${this.id}\``);
    this.#receivedBytes += bytes.length;
    if (bytes.length > 0 && !this.#accept(bytes)) return;
    if (typeof error === "string")
      this.fail(new ExecError("OS_ERROR", `http response stream \`${this.id}\` failed: ${error}`));
    else if (done) {
      this.#isComplete = true;
      this.#checkLength();
      this.#end(false);
    }
  }

  /** Sets the expected length: a body of a different length fails at its end. */
  expectBytes(length: number): void {
    this.#expectedBytes = length;
    this.#checkLength();
  }

  fail(error: unknown, { isUnwanted = false } = {}): void {
    if (this.#ended) return;
    this.#failure = { error };
    this.#end(isUnwanted);
  }

  /** Unregisters a stream that the server never started. */
  forget(): void {
    this.#end(false);
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#queue.shift();
    if (piece !== undefined) {
      this.#take(piece);
      return Promise.resolve({ done: false, value: piece.memory.subarray(0, piece.length) });
    }
    if (!this.#ended) {
      const reader = createDeferred<IteratorResult<Uint8Array, undefined>>();
      this.#readers.push(reader);
      return reader.promise;
    }
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined
      ? Promise.resolve({ done: true, value: undefined })
      : Promise.reject(failure.error);
  }

  /** Discards the rest of the body. */
  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#drop(undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #checkLength(): void {
    const [got, wanted] = [this.#receivedBytes, this.#expectedBytes];
    if (!this.#isComplete || wanted === undefined || got === wanted) return;
    const message = `http response stream \`${this.id}\` ended after ${got} of ${wanted} bytes`;
    this.#failure = { error: new ProtocolError(message) };
  }

  /** Returns false if there is no room, which ends this stream. */
  #accept(bytes: Uint8Array): boolean {
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      reader.resolve({ done: false, value: bytes });
      return true;
    }
    const failed = `http response stream \`${this.id}\` failed`;
    if (this.#budget.queuedBytes + bytes.length > MAX_QUEUED_BYTES) {
      this.#failHere(`${failed}: queued body deltas exceed ${MAX_QUEUED_BYTES} bytes`);
      return false;
    }
    const last = this.#queue.at(this.#queue.size - 1);
    if (last !== undefined && last.length + bytes.length <= MAX_SHARED_BYTES) append(last, bytes);
    else if (this.#queue.size < MAX_QUEUED_PIECES) this.#queue.push({ memory: bytes, length: bytes.length });
    else {
      this.#failHere(`${failed}: body delta channel filled before delivery`);
      return false;
    }
    this.#budget.queuedBytes += bytes.length;
    this.#queuedBytes += bytes.length;
    if (this.#queuedBytes >= HOLD_BYTES) this.#hold(true);
    return true;
  }

  #take({ length }: Piece): void {
    this.#budget.queuedBytes -= length;
    this.#queuedBytes -= length;
    if (this.#queuedBytes <= RELEASE_BYTES) this.#hold(false);
  }

  #hold(on: boolean): void {
    if (this.#held === on || this.#ended) return;
    this.#held = on;
    this.#owner.hold(on);
  }

  /** The server keeps sending data that cannot be accepted. */
  #failHere(message: string): void {
    this.fail(new ProtocolError(message), { isUnwanted: true });
  }

  /** Discards the queue. */
  #drop(failure: { readonly error: unknown } | undefined): void {
    for (let piece = this.#queue.shift(); piece !== undefined; piece = this.#queue.shift()) this.#take(piece);
    this.#failure = failure;
    this.#end(true);
  }

  #end(isUnwanted: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#owner.unregister(isUnwanted);
    // Waiting readers have seen the whole queue: the first gets the failure, if any.
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) {
      const waiting = reader;
      void this.next().then(
        (result) => waiting.resolve(result),
        (error: unknown) => waiting.reject(error),
      );
    }
  }
}

/** Bytes that are read together: of one delta, or of several small ones. */
interface Piece {
  memory: Uint8Array;
  length: number;
}

function append(piece: Piece, bytes: Uint8Array): void {
  if (piece.memory.length < MAX_SHARED_BYTES) {
    const shared = new Uint8Array(MAX_SHARED_BYTES);
    shared.set(piece.memory);
    piece.memory = shared;
  }
  piece.memory.set(bytes, piece.length);
  piece.length += bytes.length;
}

function decodedLength(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}
