import { ChunkedBody } from "./chunked-body.ts";
import { parseResponseHead, ResponseError, type ResponseHead } from "./response-head.ts";

/** What a reader tells, in this order. */
export interface ResponseEvents {
  head(head: ResponseHead): void;
  /** The bytes are valid during the call only. */
  data(bytes: Buffer): void;
  end(): void;
}

const MAX_HEAD_BYTES = 1024 * 1024;
const LONGEST_HEAD_END = "\n\r\n";
const SHORTEST_HEAD_END = "\n\n";
const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const NO_BYTES = Buffer.alloc(0);
const SWITCHING_PROTOCOLS = 101;

/** Reads one response from the bytes of a connection, however they are cut. Throws a ResponseError for what is not HTTP/1. */
export class ResponseReader {
  readonly #method: string;
  readonly #events: ResponseEvents;
  /** The head as far as it has come, where it does not lie in one chunk. */
  #partial: Buffer = NO_BYTES;
  #partialBytes = 0;
  #head: ResponseHead | undefined;
  #bytesLeft = 0;
  #chunked: ChunkedBody | undefined;
  #ended = false;
  #surplus = false;

  constructor(method: string, events: ResponseEvents) {
    this.#method = method;
    this.#events = events;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** True when the response has ended and left its connection fit for another. */
  get reusable(): boolean {
    return (
      this.#ended &&
      !this.#surplus &&
      this.#head?.keepsAlive === true &&
      this.#head.status !== SWITCHING_PROTOCOLS
    );
  }

  get promisedMs(): number | undefined {
    return this.#head?.promisedMs;
  }

  read(bytes: Buffer): void {
    let rest = bytes;
    while (this.#head === undefined) {
      const afterHead = this.#readHead(rest);
      if (afterHead === undefined) return;
      rest = afterHead;
    }
    if (this.#ended) this.#surplus ||= rest.length > 0;
    else if (rest.length > 0) this.#readBody(rest);
  }

  /** The connection has ended without an error. */
  finish(): void {
    if (this.#ended) return;
    if (this.#head?.framing.kind !== "until-close") throw new ResponseError("the connection ended too early");
    this.#surplus = true;
    this.#end();
  }

  /** Returns what follows the head, or undefined when it is not complete. */
  #readHead(bytes: Buffer): Buffer | undefined {
    const before = this.#partialBytes;
    const all = before === 0 ? afterBlankLines(bytes) : this.#append(bytes);
    const end = findHeadEnd(all, Math.max(0, before - LONGEST_HEAD_END.length));
    if ((end?.textEnd ?? all.length) > MAX_HEAD_BYTES)
      throw new ResponseError(`the head is longer than ${MAX_HEAD_BYTES} bytes`);
    if (end === undefined) {
      if (before === 0) this.#append(all);
      return undefined;
    }
    this.#partialBytes = 0;
    const head = parseResponseHead(all.toString("latin1", 0, end.textEnd), this.#method);
    // What goes before the answer proper is passed over.
    if (head.status >= 200 || head.status === SWITCHING_PROTOCOLS) this.#begin(head);
    return all.subarray(end.bodyStart);
  }

  #append(bytes: Buffer): Buffer {
    const length = this.#partialBytes + bytes.length;
    if (length > this.#partial.length) {
      // Twice as much each time, so that a head that comes byte by byte is not copied for each of them.
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#partial.length));
      this.#partial.copy(larger, 0, 0, this.#partialBytes);
      this.#partial = larger;
    }
    bytes.copy(this.#partial, this.#partialBytes);
    this.#partialBytes = length;
    return this.#partial.subarray(0, length);
  }

  #begin(head: ResponseHead): void {
    this.#head = head;
    const { framing } = head;
    if (framing.kind === "chunked") this.#chunked = new ChunkedBody((bytes) => this.#events.data(bytes));
    if (framing.kind === "length") this.#bytesLeft = framing.bytes;
    this.#events.head(head);
    if (framing.kind === "length" && framing.bytes === 0) this.#end();
  }

  #readBody(bytes: Buffer): void {
    const { framing } = this.#head!;
    if (framing.kind === "until-close") {
      this.#events.data(bytes);
    } else if (this.#chunked !== undefined) {
      const end = this.#chunked.read(bytes);
      if (end === undefined) return;
      this.#surplus = end < bytes.length;
      this.#end();
    } else {
      const mine = bytes.length <= this.#bytesLeft ? bytes : bytes.subarray(0, this.#bytesLeft);
      this.#bytesLeft -= mine.length;
      this.#events.data(mine);
      if (this.#bytesLeft > 0) return;
      this.#surplus = mine.length < bytes.length;
      this.#end();
    }
  }

  #end(): void {
    this.#ended = true;
    this.#events.end();
  }
}

/** Some servers send an empty line too many behind the body before. */
function afterBlankLines(bytes: Buffer): Buffer {
  let start = 0;
  while (bytes[start] === NEWLINE || bytes[start] === CARRIAGE_RETURN) start += 1;
  return start === 0 ? bytes : bytes.subarray(start);
}

/** An empty line ends a head; lines may end without a carriage return. */
function findHeadEnd(bytes: Buffer, from: number): { textEnd: number; bodyStart: number } | undefined {
  const usual = bytes.indexOf(LONGEST_HEAD_END, from, "latin1");
  const short = (usual < 0 ? bytes : bytes.subarray(0, usual)).indexOf(SHORTEST_HEAD_END, from, "latin1");
  const textEnd = short < 0 ? usual : short;
  const length = short < 0 ? LONGEST_HEAD_END.length : SHORTEST_HEAD_END.length;
  return textEnd < 0 ? undefined : { textEnd, bodyStart: textEnd + length };
}
