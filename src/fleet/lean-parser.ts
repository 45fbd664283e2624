const LINE_END_BYTES = 2;
const NEW_LINE = 10;
const MESSAGE = Buffer.from("MSG ");
const MESSAGE_WITH_HEADERS = Buffer.from("HMSG ");
const DIGITS = /^\d+$/;
/** No NATS server allows longer ones. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** What a server says of itself and its cluster is the longest. */
const MAX_LINE_BYTES = 1024 * 1024;

/** The parser of the library. */
export interface Parser {
  parse(bytes: Uint8Array): void;
}

/** The line before a message: `MSG subject sid [reply] size` or `HMSG subject sid [reply] headerSize size` */
export interface MessageLine {
  readonly subject: string;
  /** Number of the subscription. */
  readonly sid: number;
  readonly reply: string | undefined;
  /** Length of the headers that the message begins with. */
  readonly headerSize: number;
  /** Length with headers. */
  readonly size: number;
}

/** Takes messages out of what a server says, and leaves everything else to the library's parser. */
export class LeanParser implements Parser {
  readonly #receive: (line: MessageLine, data: Buffer) => void;
  #parser: Parser;
  /** The beginning of a line that has not ended yet. */
  #line: Buffer | undefined;
  /** A message of which not all has arrived. */
  #message: PartialMessage | undefined;
  /** Bytes that follow and say nothing: the end of the line behind a message. */
  #ending = 0;

  constructor(parser: Parser, receive: (line: MessageLine, data: Buffer) => void) {
    this.#parser = parser;
    this.#receive = receive;
  }

  /** A new connection. */
  begin(parser: Parser): void {
    this.#parser = parser;
    this.#line = undefined;
    this.#message = undefined;
    this.#ending = 0;
  }

  parse(bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < chunk.length; ) {
      if (this.#message !== undefined) at += this.#fill(this.#message, chunk, at);
      else if (this.#ending > 0) {
        this.#ending -= 1;
        at += 1;
      } else at = this.#readLine(chunk, at);
    }
  }

  /** Returns where the next one begins. */
  #readLine(chunk: Buffer, start: number): number {
    const end = chunk.indexOf(NEW_LINE, start) + 1;
    const part = chunk.subarray(start, end === 0 ? chunk.length : end);
    const line = this.#line === undefined ? part : Buffer.concat([this.#line, part]);
    if (line.length > MAX_LINE_BYTES) throw new Error("NATS sent a line of an impossible length");
    this.#line = end === 0 ? line : undefined;
    if (end === 0) return chunk.length;
    if (startsWith(line, MESSAGE) || startsWith(line, MESSAGE_WITH_HEADERS))
      return this.#beginMessage(readMessageLine(line), chunk, end);
    this.#parser.parse(line);
    return end;
  }

  /** A message that has arrived as a whole is not copied. */
  #beginMessage(line: MessageLine, chunk: Buffer, start: number): number {
    const end = start + line.size;
    if (end > chunk.length) {
      this.#message = { line, data: Buffer.allocUnsafe(line.size), filled: 0 };
      return start;
    }
    this.#tell(line, chunk.subarray(start, end));
    return end;
  }

  #fill(message: PartialMessage, chunk: Buffer, start: number): number {
    const copied = chunk.copy(message.data, message.filled, start);
    message.filled += copied;
    if (message.filled === message.data.length) {
      this.#message = undefined;
      this.#tell(message.line, message.data);
    }
    return copied;
  }

  #tell(line: MessageLine, data: Buffer): void {
    this.#ending = LINE_END_BYTES;
    this.#receive(line, data);
  }
}

interface PartialMessage {
  readonly line: MessageLine;
  readonly data: Buffer;
  filled: number;
}

function readMessageLine(bytes: Buffer): MessageLine {
  const line = bytes.toString("latin1").trimEnd();
  const words = line.split(" ");
  const size = sizeIn(words.pop(), line);
  const headerSize = words[0] === "HMSG" ? sizeIn(words.pop(), line) : 0;
  const [, subject, sid, reply] = words;
  if (subject === undefined || sid === undefined || words.length > 4 || headerSize > size)
    throw new Error(`NATS sent a message that cannot be: ${line.slice(0, 200)}`);
  return { subject, sid: Number(sid), reply, headerSize, size };
}

function sizeIn(word: string | undefined, line: string): number {
  const size = Number(word);
  if (word !== undefined && DIGITS.test(word) && size <= MAX_MESSAGE_BYTES) return size;
  throw new Error(`NATS sent a message of an impossible size: ${line.slice(0, 200)}`);
}

function startsWith(line: Buffer, beginning: Buffer): boolean {
  return beginning.equals(line.subarray(0, beginning.length));
}
