import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import { withDeadline } from "../fault/deadline.ts";

const DEADLINE_MS = 120_000;

interface Message {
  readonly id?: number;
  readonly method?: string;
  // Whatever the server sends; the members that are known are looked at.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly params?: any;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  readonly error?: { readonly message: string };
}

/** A client that requests a lot, and reads only when asked to. It hashes what it gets and forgets it. */
export class UnreadingClient {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #streams = new Map<string, { readonly hash: Hash; ended(): void }>();
  #lastId = 1;

  static async open(url: string): Promise<UnreadingClient> {
    const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
    await once(socket, "open");
    const client = new UnreadingClient(socket);
    await client.ask("initialize", { clientName: "unreading" });
    socket.send('{"method":"initialized"}');
    return client;
  }

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", () => {}); // what is waited for tells
    socket.on("message", (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Message));
  }

  #receive({ id, method, params, ...message }: Message): void {
    if (id !== undefined) this.#answers.get(id)?.(message);
    const stream = this.#streams.get(params?.requestId ?? params?.processId);
    if (method === "http/request/bodyDelta" || method === "process/output") {
      stream?.hash.update(Buffer.from(params.deltaBase64 ?? params.chunk, "base64"));
      if (params.done === true) stream?.ended();
    } else if (method === "process/closed") stream?.ended();
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async ask(method: string, params: unknown): Promise<any> {
    const id = this.#lastId++;
    const answer = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await withDeadline(answer, DEADLINE_MS, () => `the answer to ${method}`);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** The hash of base64 in an answer. */
  async hashOf(method: string, params: unknown): Promise<string> {
    const { dataBase64, bodyBase64 } = await this.ask(method, params);
    return createHash("sha256")
      .update(Buffer.from(dataBase64 ?? bodyBase64, "base64"))
      .digest("hex");
  }

  /** The hash of all notifications for this request or process. */
  async hashOfStream(id: string, method: string, params: unknown): Promise<string> {
    const hash = createHash("sha256");
    const ended = new Promise<void>((resolve) => this.#streams.set(id, { hash, ended: resolve }));
    await this.ask(method, params);
    await withDeadline(ended, DEADLINE_MS, () => `the end of ${id}`);
    return hash.digest("hex");
  }

  stopReading(): void {
    this.#socket.pause();
  }

  /** Reads in bursts, with pauses in between, or without. */
  startReading(pauseMs: number): void {
    this.#socket.resume();
    if (pauseMs === 0) return;
    const timer = setInterval(() => {
      if (this.#socket.isPaused) this.#socket.resume();
      else this.#socket.pause();
    }, pauseMs);
    this.#socket.once("close", () => clearInterval(timer));
  }

  cut(): void {
    this.#socket.terminate();
  }
}
