import type { Socket } from "node:net";
import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import type { BusMessage } from "./bus.ts";
import { LeanParser, type Parser } from "./lean-parser.ts";

// The library of NATS copies messages several times into memory of their own, so that V8 collects all garbage every 20 MB,
// and takes each through a generator and several promises: that costs more than everything else, for long messages and for
// short ones. This replaces how messages are written, read and handed out, inside the version of the library that
// package.json pins. With any other inside, the library does it in its own way.

/** Longer messages are written as they are; shorter ones are copied, and those of one turn written at once. */
const LONG_BYTES = 16 * 1024;
/** So many bytes are not kept until the turn ends. */
const PENDING_BYTES = 64 * 1024;
const LINE_END = Buffer.from("\r\n");
const NO_RESPONDERS = Buffer.from("NATS/1.0 503");
const CARRIAGE_RETURN = 13;
const SPACE = 32;

/** Parts of the inside of a connection. */
interface Protocol {
  parser: Parser;
  readonly connected: boolean;
  readonly transport: { readonly socket: Socket | undefined };
  flushPending(): void;
}

/** How a connection writes and reads without needless copies. */
export interface LeanNats {
  /** The library has connected again. */
  reconnected(): void;
  /** Nobody answers any more. The library would wait until what was written is taken, which may be never. */
  abandon(): void;
  /** False if the library has to publish the message. The data must not change before it has arrived. */
  publish(subject: string, data: Uint8Array, reply?: string): boolean;
  /** Writes what waits for the end of the turn. */
  flush(): void;
  /** Takes the messages of a subscription. */
  receive(subscription: Subscription, receive: (message: BusMessage) => void): void;
  /** The subscription has ended. */
  forget(subscription: Subscription): void;
}

/** Undefined if the inside of the connection is not the one that is known. */
export function leanNats(connection: NatsConnection): LeanNats | undefined {
  const protocol = protocolOf(connection);
  return protocol && new LeanConnection(protocol);
}

class LeanConnection implements LeanNats {
  readonly #protocol: Protocol;
  readonly #receivers = new Map<number, (message: BusMessage) => void>();
  readonly #parser: LeanParser;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
    const parser = new LeanParser(protocol.parser, ({ sid, subject, reply, headerSize }, bytes) =>
      this.#receivers.get(sid)?.({
        subject,
        data: bytes.subarray(headerSize),
        reply,
        isUndeliverable: headerSize > 0 && isNoResponders(bytes.subarray(0, headerSize)),
      }),
    );
    this.#parser = parser;
    const reader = { parse: (bytes: Uint8Array): void => this.#read(bytes) };
    // The library makes another parser for each connection to a server.
    Object.defineProperty(protocol, "parser", {
      get: () => reader,
      set: (next: Parser) => {
        parser.begin(next);
      },
    });
    this.reconnected();
  }

  /** What the library has read before is parsed before the socket can say more. */
  reconnected(): void {
    const { socket } = this.#protocol.transport;
    if (socket === undefined) return;
    socket.removeAllListeners("data");
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  abandon(): void {
    this.#protocol.transport.socket?.destroy();
  }

  publish(subject: string, data: Uint8Array, reply?: string): boolean {
    const { connected, transport } = this.#protocol;
    if (!connected || transport.socket === undefined) return false;
    const line = `PUB ${subject} ${reply === undefined ? "" : `${reply} `}${data.length}\r\n`;
    if (data.length < LONG_BYTES) this.#collect(line, data);
    else this.#write(line, data, transport.socket);
    return true;
  }

  flush(): void {
    if (this.#pendingBytes === 0) return;
    const pending = this.#pending;
    const bytes = pending.length === 1 ? pending[0]! : Buffer.concat(pending, this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    const { connected, transport } = this.#protocol;
    if (!connected) return;
    // Answers depend on subscriptions, which the library writes.
    this.#protocol.flushPending();
    transport.socket?.write(bytes);
  }

  receive(subscription: Subscription, receive: (message: BusMessage) => void): void {
    this.#receivers.set(subscription.getID(), receive);
  }

  forget(subscription: Subscription): void {
    this.#receivers.delete(subscription.getID());
  }

  #read(bytes: Uint8Array): void {
    try {
      this.#parser.parse(bytes);
    } catch (error) {
      // What follows cannot be understood; the library connects again.
      this.#protocol.transport.socket?.destroy(error as Error);
    }
  }

  #collect(line: string, data: Uint8Array): void {
    const message = Buffer.allocUnsafe(line.length + data.length + LINE_END.length);
    message.write(line, "latin1");
    message.set(data, line.length);
    message.set(LINE_END, line.length + data.length);
    this.#pending.push(message);
    if (this.#pendingBytes === 0) queueMicrotask(() => this.flush());
    this.#pendingBytes += message.length;
    if (this.#pendingBytes >= PENDING_BYTES) this.flush();
  }

  /** What was published before must arrive before. */
  #write(line: string, data: Uint8Array, socket: Socket): void {
    this.flush();
    this.#protocol.flushPending();
    socket.cork();
    socket.write(line, "latin1");
    socket.write(data);
    socket.write(LINE_END);
    socket.uncork();
  }
}

/**
 * Of headers, only the status is read: whoever may publish chooses the others, and the library throws for some names and
 * takes minutes for many.
 */
function isNoResponders(headers: Buffer): boolean {
  const next = headers[NO_RESPONDERS.length];
  const isStatus = headers.subarray(0, NO_RESPONDERS.length).equals(NO_RESPONDERS);
  return isStatus && (next === CARRIAGE_RETURN || next === SPACE);
}

function protocolOf(connection: object): Protocol | undefined {
  const { protocol } = connection as { protocol?: Partial<Protocol> };
  const isKnown =
    typeof protocol?.parser?.parse === "function" &&
    typeof protocol.connected === "boolean" &&
    typeof protocol.transport === "object" &&
    typeof protocol.flushPending === "function";
  return isKnown ? (protocol as Protocol) : undefined;
}
