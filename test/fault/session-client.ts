import net from "node:net";
import { WebSocket } from "ws";
import { withDeadline } from "./deadline.ts";

const ANSWER_DEADLINE_MS = 60_000;

export interface ReadResult {
  chunks: { seq: number; stream: string; chunk: string }[];
  nextSeq: number;
  exited: boolean;
  exitCode: number | null;
  closed: boolean;
}

export interface Notification {
  method: string;
  // Whatever the server sent; the tests look at the members they know.
  // oxlint-disable-next-line typescript/no-explicit-any
  params: any;
}

interface Message extends Partial<Notification> {
  id?: number | string;
  result?: unknown;
  error?: RpcErrorObject;
}

interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

interface Call {
  method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** The server answered with an error. */
export class RpcFailure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(method: string, error: RpcErrorObject) {
    super(`${method}: ${error.code} ${error.message}`);
    this.code = error.code;
    this.data = error.data;
  }
}

/** The connection ended before the answer came. */
export class ConnectionLost extends Error {}

export interface ClientOptions {
  onNotification?: (notification: Notification) => void;
  /** Called once a message has been written or has been dealt with. */
  onTraffic?: (direction: "sent" | "received") => void;
}

/** Plain JSON over one WebSocket. It shares no code with the project's own client. */
export class SessionClient {
  readonly closed: Promise<void>;
  readonly socket: net.Socket;
  #webSocket: WebSocket;
  #options: ClientOptions;
  #calls = new Map<number | string, Call>();
  #nextId = 1;
  #lost = false;

  static async connect(url: string, options: ClientOptions = {}): Promise<SessionClient> {
    const { hostname, port } = new URL(url);
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    const webSocket = new WebSocket(url, {
      perMessageDeflate: false,
      createConnection: (() => socket) as unknown as typeof net.createConnection,
    });
    const client = new SessionClient(socket, webSocket, options);
    await withDeadline(
      new Promise<void>((resolve, reject) => {
        webSocket.once("open", resolve);
        webSocket.once("error", reject);
      }),
      ANSWER_DEADLINE_MS,
      () => `a connection to ${url}`,
    );
    return client;
  }

  constructor(socket: net.Socket, webSocket: WebSocket, options: ClientOptions) {
    this.socket = socket;
    this.#webSocket = webSocket;
    this.#options = options;
    this.closed = new Promise((resolve) => {
      webSocket.once("close", () => {
        this.#lose();
        resolve();
      });
    });
    // A cut socket reports errors that the cut itself explains; `closed` follows each of them.
    webSocket.on("error", () => {});
    webSocket.on("message", (data: Buffer) => this.#receive(data));
  }

  #receive(data: Buffer): void {
    if (this.#lost) return;
    const message = JSON.parse(data.toString()) as Message;
    if (message.method !== undefined) {
      this.#options.onNotification?.({ method: message.method, params: message.params });
    } else if (message.id !== undefined) {
      const call = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if (message.error !== undefined) call?.reject(new RpcFailure(call.method, message.error));
      else call?.resolve(message.result);
    }
    this.#options.onTraffic?.("received");
  }

  #lose(): void {
    this.#lost = true;
    for (const call of this.#calls.values())
      call.reject(new ConnectionLost(`${call.method}: connection lost`));
    this.#calls.clear();
  }

  get isLost(): boolean {
    return this.#lost;
  }

  request<T>(method: string, params: unknown = null): Promise<T> {
    if (this.#lost) return Promise.reject(new ConnectionLost(`${method}: connection lost`));
    const id = this.#nextId++;
    const answer = new Promise<T>((resolve, reject) => {
      this.#calls.set(id, { method, resolve, reject });
    });
    this.#webSocket.send(JSON.stringify({ id, method, params }));
    this.#options.onTraffic?.("sent");
    return withDeadline(answer, ANSWER_DEADLINE_MS, () => `the answer to ${method}`);
  }

  notify(method: string, params: unknown = {}): void {
    if (this.#lost) return;
    this.#webSocket.send(JSON.stringify({ method, params }));
    this.#options.onTraffic?.("sent");
  }

  async initialize(resumeSessionId?: string): Promise<string> {
    const params = {
      clientName: "fault-test",
      ...(resumeSessionId === undefined ? {} : { resumeSessionId }),
    };
    const { sessionId } = await this.request<{ sessionId: string }>("initialize", params);
    this.notify("initialized");
    return sessionId;
  }

  /** Leaves what the server sends in the socket buffers, as a client does that is busy or stopped. */
  stopReading(): void {
    this.#webSocket.pause();
  }

  resumeReading(): void {
    this.#webSocket.resume();
  }

  /** Bytes given to the socket that the system has not taken yet. */
  get unsentBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  /** Takes the TCP connection away without a word, as a lost network does. Nothing is received any more. */
  cut(how: "fin" | "reset" = "fin"): void {
    if (how === "reset") this.socket.resetAndDestroy();
    else this.socket.destroy();
    this.#lose();
  }
}

export async function openSession(url: string, options: ClientOptions = {}): Promise<SessionClient> {
  const client = await SessionClient.connect(url, options);
  await client.initialize();
  return client;
}

export interface StartOptions {
  tty?: boolean;
  pipeStdin?: boolean;
  env?: Record<string, string>;
}

export function startParams(processId: string, argv: readonly string[], options: StartOptions = {}): object {
  return {
    processId,
    argv,
    cwd: "file:///",
    env: { PATH: process.env["PATH"] ?? "", ...options.env },
    tty: options.tty ?? false,
    pipeStdin: options.pipeStdin ?? false,
  };
}
