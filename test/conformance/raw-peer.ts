import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { WebSocket } from "ws";
import type { Transport as MemoryTransport } from "../../src/transport/transport.ts";

/** Whatever came in: a response, an error, a notification or a request of the server. */
export interface Message {
  id?: number | string;
  method?: string;
  // Results and params are compared with literals; a type per method would come from the code under test.
  // oxlint-disable-next-line typescript/no-explicit-any
  params?: any;
  // oxlint-disable-next-line typescript/no-explicit-any
  result?: any;
  error?: { code: number; message: string; data?: unknown };
}

/** The server answered with an error. */
export class RpcFailure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(error: { code: number; message: string; data?: unknown }) {
    super(error.message);
    this.name = "RpcFailure";
    this.code = error.code;
    this.data = error.data;
  }
}

/** The connection ended, or nothing matching came in time. */
class PeerError extends Error {
  override readonly name = "PeerError";
}

export interface CallOptions {
  id?: number | string;
  timeoutMs?: number;
}

interface Carrier {
  send(text: string): void;
  sendBinary(bytes: Uint8Array): void;
  close(): void;
  drop(): void;
}

interface Waiter {
  matches(message: Message): boolean;
  resolve(received: Received): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

interface Received {
  message: Message;
  text: string;
}

/** Only what is broken takes that long, also on a busy machine. */
const DEFAULT_TIMEOUT_MS = 15_000;

/**
 * A JSON-RPC peer that shares no code with the project's own client or connection: what both would get wrong alike must
 * show here.
 */
export class RawPeer {
  /** Every message received so far as it was written on the wire, in order. */
  readonly rawMessages: string[] = [];
  /** Every notification received so far, in order, whether `next` has returned it or not. */
  readonly notifications: Message[] = [];
  /** Resolves when the connection has ended for any reason. Never rejects. */
  readonly closed: Promise<void>;
  /** The socket, for tests of frames; absent on other carriers. */
  readonly webSocket: WebSocket | undefined;
  /** The server process that serves only this peer; absent unless the carrier is its stdio. */
  readonly child: ChildProcess | undefined;

  #carrier: Carrier;
  #unread: Received[] = [];
  #waiters: Waiter[] = [];
  #lastId = 0;
  #ended = false;
  #resolveClosed: () => void = () => {};

  constructor(
    connectCarrier: (receive: (text: string) => void, end: () => void) => Carrier,
    owner: { webSocket?: WebSocket; child?: ChildProcess } = {},
  ) {
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.webSocket = owner.webSocket;
    this.child = owner.child;
    this.#carrier = connectCarrier(
      (text) => this.#receive(text),
      () => this.#end(),
    );
  }

  get isClosed(): boolean {
    return this.#ended;
  }

  /** Sends a request and returns its result; an error answer rejects with `RpcFailure`. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async request(method: string, params?: unknown, options: CallOptions = {}): Promise<any> {
    const answer = await this.call(method, params, options);
    if (answer.error !== undefined) throw new RpcFailure(answer.error);
    return answer.result;
  }

  /** Sends a request and returns the whole answer, error or not. */
  async call(method: string, params?: unknown, options: CallOptions = {}): Promise<Message> {
    const id = options.id ?? ++this.#lastId;
    const answer = this.next(
      (message) => message.id === id && message.method === undefined,
      options.timeoutMs,
      `answer to ${method} (id ${JSON.stringify(id)})`,
    );
    this.sendText(JSON.stringify(params === undefined ? { id, method } : { id, method, params }));
    return answer;
  }

  notify(method: string, params?: unknown): void {
    this.sendText(JSON.stringify(params === undefined ? { method } : { method, params }));
  }

  /** Sends one message as it is, valid or not. */
  sendText(text: string): void {
    this.#carrier.send(text);
  }

  /** Sends one message in a binary frame; the other carriers know no such difference. */
  sendBinary(bytes: Uint8Array): void {
    this.#carrier.sendBinary(bytes);
  }

  /** The next message that matches, out of those no earlier `next`, `nextText` or call has taken. */
  async next(
    matches: (message: Message) => boolean = () => true,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    what = "matching message",
  ): Promise<Message> {
    return (await this.#take(matches, timeoutMs, what)).message;
  }

  /** As `next`, but the text of the message: JSON.parse loses digits above 2^53 and the order of members. */
  async nextText(
    matches: (message: Message) => boolean = () => true,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    what = "matching message",
  ): Promise<string> {
    return (await this.#take(matches, timeoutMs, what)).text;
  }

  /** The next notification of this method, for one process when `processId` is given. */
  async nextNotification(method: string, processId?: string, timeoutMs?: number): Promise<Message> {
    return this.next(
      (message) =>
        message.method === method && (processId === undefined || message.params?.processId === processId),
      timeoutMs,
      `notification ${method}${processId === undefined ? "" : ` of ${processId}`}`,
    );
  }

  /** `initialize` and `initialized`; returns the result of the former. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async handshake(options: { resumeSessionId?: string | null; reportStarts?: boolean } = {}): Promise<any> {
    const result = await this.request("initialize", { clientName: "conformance", ...options });
    this.notify("initialized");
    return result;
  }

  /** Ends the connection the polite way: a Close frame, or the end of stdin. */
  close(): void {
    this.#carrier.close();
  }

  /** Ends the connection as a crash would: the TCP socket is reset, the stdio server killed. */
  drop(): void {
    this.#carrier.drop();
  }

  async #take(matches: (message: Message) => boolean, timeoutMs: number, what: string): Promise<Received> {
    const index = this.#unread.findIndex((received) => matches(received.message));
    const [unread] = index === -1 ? [] : this.#unread.splice(index, 1);
    if (unread !== undefined) return unread;
    if (this.#ended) throw new PeerError(`no ${what}: the connection has ended${this.#history()}`);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        matches,
        resolve,
        reject,
        timer: setTimeout(() => {
          this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
          reject(new PeerError(`no ${what} within ${timeoutMs} ms${this.#history()}`));
        }, timeoutMs),
      };
      this.#waiters.push(waiter);
    });
  }

  #receive(text: string): void {
    this.rawMessages.push(text);
    const message = JSON.parse(text) as Message;
    if (message.method !== undefined && message.id === undefined) this.notifications.push(message);
    const index = this.#waiters.findIndex((waiter) => waiter.matches(message));
    const [waiter] = index === -1 ? [] : this.#waiters.splice(index, 1);
    if (waiter === undefined) {
      this.#unread.push({ message, text });
      return;
    }
    clearTimeout(waiter.timer);
    waiter.resolve({ message, text });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const waiter of this.#waiters.splice(0)) {
      clearTimeout(waiter.timer);
      waiter.reject(new PeerError(`the connection ended while waiting${this.#history()}`));
    }
    this.#resolveClosed();
  }

  #history(): string {
    if (this.rawMessages.length === 0) return "; nothing was received";
    const last = this.rawMessages.slice(-5).map((text) => `\n  ${text.slice(0, 300)}`);
    return `; received ${this.rawMessages.length}, the last ones:${last.join("")}`;
  }
}

/** Opens a websocket peer. Rejects when the upgrade is refused. */
export async function openWebSocketPeer(url: string, headers: Record<string, string> = {}): Promise<RawPeer> {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
  const peer = new RawPeer(
    (receive, end) => {
      socket.on("message", (data) => receive((data as Buffer).toString("utf8")));
      socket.on("close", end);
      // The reason of a lost connection does not matter: `close` always follows and ends the peer.
      socket.on("error", () => {});
      return {
        send: (text) => socket.send(text),
        sendBinary: (bytes) => socket.send(bytes, { binary: true }),
        close: () => socket.close(1000),
        drop: () => socket.terminate(),
      };
    },
    { webSocket: socket },
  );
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return peer;
}

/** A peer over the stdin and stdout of a server process made for it. */
export function openStdioPeer(child: ChildProcess): RawPeer {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new TypeError("the server's stdin and stdout must be pipes");
  return openLinesPeer({ stdin, stdout, drop: () => child.kill("SIGKILL") }, { child });
}

/** A peer whose messages are lines of two streams, which are named as the server sees them. */
export function openLinesPeer(
  { stdin, stdout, drop }: { stdin: Writable; stdout: Readable; drop: () => void },
  owner: { child?: ChildProcess } = {},
): RawPeer {
  return new RawPeer((receive, end) => {
    let parts: string[] = [];
    stdout.setEncoding("utf8");
    stdout.on("data", (text: string) => {
      const lines = text.split("\n");
      for (const [index, line] of lines.entries()) {
        parts.push(line);
        if (index === lines.length - 1) break;
        receive(parts.join(""));
        parts = [];
      }
    });
    stdout.on("close", end);
    // Writes to a server that has exited fail; the end of its stdout ends the peer.
    stdin.on("error", () => {});
    return {
      send: (text) => stdin.write(`${text}\n`),
      sendBinary: (bytes) => {
        stdin.write(bytes);
        stdin.write("\n");
      },
      close: () => stdin.end(),
      drop,
    };
  }, owner);
}

/** A peer over one end of a memory pair; the server has the other end. */
export function openMemoryPeer(transport: MemoryTransport): RawPeer {
  return new RawPeer((receive, end) => {
    transport.open({ message: receive, drain: () => {}, close: () => end() });
    return {
      send: (text) => transport.send(text),
      sendBinary: (bytes) => transport.send(bytes),
      close: () => transport.close(),
      drop: () => transport.destroy(),
    };
  });
}
