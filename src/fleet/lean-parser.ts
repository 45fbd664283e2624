const LINE_END_BYTES = 2;
const NEW_LINE = 10;
const MESSAGE = Buffer.from("MSG ");
const MESSAGE_WITH_HEADERS = Buffer.from("HMSG ");
/** No server of NATS allows longer ones. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** What a server says of itself and its cluster is the longest. */
const MAX_LINE_BYTES = 1024 * 1024;

/** The parser of the library. */
export interface Parser {
  parse(bytes: Uint8Array): void;
}

/** The line before a message: `MSG subject sid [reply] size` */
export interface MessageLine {
  readonly subject: string;
  /** Number of the subscription. */
  readonly sid: number;
  readonly reply: string | undefined;
  readonly size: number;
}

/** Takes messages without headers out of what a server says, and leaves everything else to the library's parser. */
export class LeanParser implements Parser {
  readonly #receive: (line: MessageLine, data: Buffer) => void;
  #parser: Parser;
  /** The beginning of a line that has not ended yet. */
  #line: Buffer | undefined;
  /** A message of which not all has arrived. */
  #message: PartialMessage | undefined;
  /** Bytes that follow and are for the library's parser. */
  #foreign = 0;
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
    this.#foreign = 0;
    this.#ending = 0;
  }

  parse(bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < chunk.length; ) {
      if (this.#message !== undefined) at += this.#fill(this.#message, chunk, at);
      else if (this.#foreign > 0) at += this.#passOn(chunk, at);
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
    if (startsWith(line, MESSAGE)) return this.#beginMessage(readMessageLine(line), chunk, end);
    if (startsWith(line, MESSAGE_WITH_HEADERS))
      this.#foreign = sizeIn(line.toString("latin1")) + LINE_END_BYTES;
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

  #passOn(chunk: Buffer, start: number): number {
    const passed = chunk.subarray(start, start + this.#foreign);
    this.#foreign -= passed.length;
    this.#parser.parse(passed);
    return passed.length;
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

function readMessageLine(line: Buffer): MessageLine {
  const text = line.toString("latin1");
  const subjectEnd = text.indexOf(" ", MESSAGE.length);
  const sidEnd = text.indexOf(" ", subjectEnd + 1);
  const sizeStart = text.lastIndexOf(" ");
  return {
    subject: text.slice(MESSAGE.length, subjectEnd),
    sid: Number(text.slice(subjectEnd + 1, sidEnd)),
    reply: sizeStart === sidEnd ? undefined : text.slice(sidEnd + 1, sizeStart),
    size: sizeIn(text),
  };
}

/** The size of what follows is the last word of a line. */
function sizeIn(line: string): number {
  const size = Number(line.slice(line.lastIndexOf(" ") + 1));
  if (Number.isSafeInteger(size) && size >= 0 && size <= MAX_MESSAGE_BYTES) return size;
  throw new Error(`NATS sent a message of an impossible size: ${line.slice(0, 200)}`);
}

function startsWith(line: Buffer, beginning: Buffer): boolean {
  return beginning.compare(line, 0, beginning.length) === 0;
}
