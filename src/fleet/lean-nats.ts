import type { Socket } from "node:net";
import type { NatsConnection } from "@nats-io/transport-node";

// The library of NATS copies long messages several times into memory of their own, so that V8 collects all garbage every
// 20 MB, which costs more than everything else. This replaces how long messages are written and how all are parsed, inside
// the version of the library that package.json pins. With any other inside, the library does it in its own way.

/** Shorter messages are better collected by the library, which writes those of one turn at once. */
const LONG_BYTES = 16 * 1024;
const LINE_END = Buffer.from("\r\n");
const NEW_LINE = 10;
const MESSAGE = Buffer.from("MSG ");
const MESSAGE_WITH_HEADERS = Buffer.from("HMSG ");
/** No server of NATS allows longer ones. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** What a server says of itself and its cluster is the longest. */
const MAX_LINE_BYTES = 1024 * 1024;
/** What the library calls an event that is a message. */
const MESSAGE_KIND = 2;

/** What the library's parser makes of a message. */
interface ParsedMessage {
  readonly kind: typeof MESSAGE_KIND;
  readonly msg: {
    readonly subject: Uint8Array;
    readonly sid: number;
    readonly reply: Uint8Array | undefined;
    readonly size: number;
    readonly hdr: -1;
  };
  readonly data: Uint8Array;
}

interface Parser {
  parse(bytes: Uint8Array): void;
}

/** Parts of the inside of a connection. */
interface Protocol {
  parser: Parser;
  readonly connected: boolean;
  readonly transport: { readonly socket: Socket | undefined };
  flushPending(): void;
  push(event: ParsedMessage): void;
}

/** How a connection writes and reads without needless copies. */
export interface LeanNats {
  /** False if the library has to publish the message. The data must not change before it has arrived. */
  publish(subject: string, data: Uint8Array): boolean;
}

/** Undefined if the inside of the connection is not the one that is known. */
export function leanNats(connection: NatsConnection): LeanNats | undefined {
  const protocol = protocolOf(connection);
  if (protocol === undefined) return undefined;
  const lean = new LeanParser(protocol.parser, (message) => protocol.push(message));
  // The library makes another parser for each connection to a server.
  Object.defineProperty(protocol, "parser", {
    get: () => lean,
    set: (parser: Parser) => {
      lean.begin(parser);
    },
  });
  return {
    publish(subject, data) {
      const { socket } = protocol.transport;
      if (data.length < LONG_BYTES || !protocol.connected || socket === undefined) return false;
      // What was published before must arrive before.
      protocol.flushPending();
      socket.cork();
      socket.write(`PUB ${subject} ${data.length}\r\n`, "latin1");
      socket.write(data);
      socket.write(LINE_END);
      socket.uncork();
      return true;
    },
  };
}

function protocolOf(connection: object): Protocol | undefined {
  const { protocol } = connection as { protocol?: Partial<Protocol> };
  const isKnown =
    typeof protocol?.parser?.parse === "function" &&
    typeof protocol.connected === "boolean" &&
    typeof protocol.transport === "object" &&
    typeof protocol.flushPending === "function" &&
    typeof protocol.push === "function";
  return isKnown ? (protocol as Protocol) : undefined;
}

/** Takes messages without headers out of what a server says, and leaves everything else to the library's parser. */
export class LeanParser implements Parser {
  readonly #push: (message: ParsedMessage) => void;
  #parser: Parser;
  /** The beginning of a line that has not ended yet. */
  #line: Buffer | undefined;
  /** A message of which not all has arrived. */
  #message: PartialMessage | undefined;
  /** Bytes that follow and are for the library's parser. */
  #foreign = 0;
  /** Bytes that follow and say nothing: the end of the line behind a message. */
  #ending = 0;

  constructor(parser: Parser, push: (message: ParsedMessage) => void) {
    this.#parser = parser;
    this.#push = push;
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
      this.#foreign = sizeIn(line.toString("latin1")) + LINE_END.length;
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

  #tell({ subject, sid, reply, size }: MessageLine, data: Buffer): void {
    this.#ending = LINE_END.length;
    this.#push({ kind: MESSAGE_KIND, msg: { subject, sid, reply, size, hdr: -1 }, data });
  }
}

interface MessageLine {
  readonly subject: Buffer;
  readonly sid: number;
  readonly reply: Buffer | undefined;
  readonly size: number;
}

interface PartialMessage {
  readonly line: MessageLine;
  readonly data: Buffer;
  filled: number;
}

/** `MSG subject sid [reply] size` */
function readMessageLine(line: Buffer): MessageLine {
  const text = line.toString("latin1");
  const subjectEnd = text.indexOf(" ", MESSAGE.length);
  const sidEnd = text.indexOf(" ", subjectEnd + 1);
  const sizeStart = text.lastIndexOf(" ");
  return {
    subject: line.subarray(MESSAGE.length, subjectEnd),
    sid: Number(text.slice(subjectEnd + 1, sidEnd)),
    reply: sizeStart === sidEnd ? undefined : line.subarray(sidEnd + 1, sizeStart),
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
