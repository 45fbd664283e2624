import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { withDeadline } from "../fault/deadline.ts";

const DEADLINE_MS = 60_000;

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly code?: string };
  };
}

/** A client that sends arbitrary messages. */
export interface RawClient extends AsyncDisposable {
  call(method: string, params: unknown): Promise<Answer>;
  /** Resolves with the close code when the connection ends. */
  readonly closed: Promise<number>;
}

/** Connects and completes the handshake. */
export async function openSocket(url: string, token?: string): Promise<RawClient> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return openWith(new WebSocket(url.startsWith("ws+unix:") ? `${url}:/` : url, { headers }));
}

/** The same over a WebSocket of the caller's. */
export async function openWith(socket: WebSocket): Promise<RawClient> {
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => {});
  const calls = new Calls((text) => socket.send(text));
  socket.on("message", (data: Buffer) => calls.take(data.toString()));
  return begin(calls, closed, async () => {
    socket.terminate();
    await closed;
  });
}

/** Starts a server on stdio and completes the handshake. */
export async function openStdio(args: readonly string[]): Promise<RawClient> {
  const child = spawn(process.execPath, ["dist/cli.js", "--stdio", ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? -1)));
  const calls = new Calls((text) => child.stdin.write(`${text}\n`));
  createInterface({ input: child.stdout }).on("line", (line) => calls.take(line));
  return begin(calls, closed, async () => {
    child.stdin.end();
    await closed;
  });
}

async function begin(calls: Calls, closed: Promise<number>, end: () => Promise<void>): Promise<RawClient> {
  const lost = closed.then((): Answer => ({ error: { code: 0, message: "the connection has ended" } }));
  const call = (method: string, params: unknown): Promise<Answer> =>
    withDeadline(
      Promise.race([calls.call(method, params), lost]),
      DEADLINE_MS,
      () => `the answer to ${method}`,
    );
  const { error } = await call("initialize", { clientName: "raw" });
  if (error !== undefined) throw new Error(error.message);
  calls.send({ method: "initialized", params: {} });
  return { call, closed, [Symbol.asyncDispose]: end };
}

class Calls {
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #write: (text: string) => void;
  #lastId = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  send(message: object): void {
    this.#write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  call(method: string, params: unknown): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.send({ id, method, params });
    });
  }

  take(text: string): void {
    const message = JSON.parse(text) as Answer & { id?: number };
    if (typeof message.id === "number") this.#waiting.get(message.id)?.(message);
  }
}
