import { createMemoryPair } from "../../src/transport/memory.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { withDeadline } from "../fault/deadline.ts";

const WAIT_DEADLINE_MS = 20_000;

/** The shape depends on the method; tests look at what they know to be there. */
// oxlint-disable-next-line typescript/no-explicit-any
type Fields = Record<string, any>;

export interface FakeRequest {
  readonly id: number;
  readonly method: string;
  readonly params: Fields;
}

/** The answer to a method. `unanswered` leaves the request to the test. */
export type Answer = (params: Fields, connection: FakeConnection) => unknown;

export const unanswered = Symbol("unanswered");

/** An error answer. */
export class Refusal {
  readonly code: number;
  readonly message: string;

  constructor(code: number, message: string) {
    this.code = code;
    this.message = message;
  }
}

/** The server's end of one connection: sends what the test says, and records what it receives. */
export class FakeConnection {
  readonly requests: FakeRequest[] = [];
  readonly notifications: string[] = [];
  /** Answers to its own requests. */
  readonly answers: unknown[] = [];
  readonly closed: Promise<void>;
  readonly #transport: Transport;
  /** The last event number sent for each process. */
  readonly #lastSeqs: Map<string, number>;
  readonly #watchers = new Set<() => void>();

  constructor(transport: Transport, answers: Map<string, Answer>, lastSeqs = new Map<string, number>()) {
    this.#transport = transport;
    this.#lastSeqs = lastSeqs;
    this.closed = new Promise((resolve) => {
      transport.open({
        message: (text) => this.#hear(JSON.parse(text) as FakeRequest, answers),
        drain: () => {},
        close: () => resolve(),
      });
    });
  }

  /** The `nth` request of a method, as soon as it is there. */
  async request(method: string, nth = 1): Promise<FakeRequest> {
    const found = () => this.requests.filter((request) => request.method === method)[nth - 1];
    await this.until(() => found() !== undefined, `request ${nth} of ${method}`);
    return found()!;
  }

  until(look: () => boolean, what: string): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      const watcher = (): void => {
        if (!look()) return;
        this.#watchers.delete(watcher);
        resolve();
      };
      this.#watchers.add(watcher);
      watcher();
    });
    const heard = (): string => this.requests.map(({ method }) => method).join(", ");
    return withDeadline(seen, WAIT_DEADLINE_MS, () => `${what}; heard ${heard()}`);
  }

  answer({ id }: FakeRequest, result: unknown): void {
    if (result instanceof Refusal) this.send({ id, error: { code: result.code, message: result.message } });
    else this.send({ id, result });
  }

  /** What a server sends when a process is killed. */
  killed(processId: string): void {
    const seq = this.#lastSeqs.get(processId) ?? 0;
    this.exited(processId, seq + 1, 137);
    this.closedProcess(processId, seq + 2);
  }

  notify(method: string, params: Fields): void {
    if (typeof params["seq"] === "number") this.#lastSeqs.set(params["processId"], params["seq"]);
    this.send({ method, params });
  }

  output(processId: string, seq: number, text: string, stream = "stdout"): void {
    this.notify("process/output", { processId, seq, stream, chunk: Buffer.from(text).toString("base64") });
  }

  exited(processId: string, seq: number, exitCode = 0): void {
    this.notify("process/exited", { processId, seq, exitCode });
  }

  closedProcess(processId: string, seq: number): void {
    this.notify("process/closed", { processId, seq });
  }

  send(message: unknown): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string): void {
    this.#transport.send(text);
  }

  /** Ends the connection; what was sent before still arrives. */
  cut(): void {
    this.#transport.destroy();
  }

  #hear(message: FakeRequest, answers: Map<string, Answer>): void {
    if (message.id === undefined) {
      this.notifications.push(message.method);
    } else if (message.method === undefined) {
      this.answers.push(message);
    } else {
      this.requests.push(message);
      const result = answers.get(message.method)?.(message.params, this) ?? {};
      if (result !== unanswered) this.answer(message, result);
    }
    for (const watcher of this.#watchers) watcher();
  }
}

/**
 * A server that does nothing but talk. Every connection is a new one of the same session unless the test says
 * otherwise.
 */
export class FakeServer {
  readonly connections: FakeConnection[] = [];
  readonly answers = new Map<string, Answer>([
    ["initialize", ({ resumeSessionId }) => ({ sessionId: (resumeSessionId as string) ?? "session-1" })],
    ["environment/info", () => someEnvironment],
    ["environment/status", () => ({ status: "ready" })],
    ["process/start", ({ processId }) => ({ processId: processId as string })],
    ["process/read", () => emptyRead],
    ["process/write", () => ({ status: "accepted" })],
    [
      "process/terminate",
      ({ processId }, connection) => {
        connection.killed(processId);
        return { running: true };
      },
    ],
  ]);
  /** Set to make attempts to connect fail with it. */
  refusal: Error | undefined;
  attempts = 0;
  readonly #lastSeqs = new Map<string, number>();
  readonly #arrivals = new Set<() => void>();

  /** A target for `connect`. */
  readonly open = async (): Promise<Transport> => {
    this.attempts += 1;
    if (this.refusal !== undefined) throw this.refusal;
    const [ours, theirs] = createMemoryPair();
    this.connections.push(new FakeConnection(theirs, this.answers, this.#lastSeqs));
    for (const arrival of this.#arrivals) arrival();
    return ours;
  };

  /** The `nth` connection, as soon as it is there. */
  connection(nth = 1): Promise<FakeConnection> {
    const arrived = new Promise<FakeConnection>((resolve) => {
      const arrival = (): void => {
        const connection = this.connections[nth - 1];
        if (connection === undefined) return;
        this.#arrivals.delete(arrival);
        resolve(connection);
      };
      this.#arrivals.add(arrival);
      arrival();
    });
    return withDeadline(arrived, WAIT_DEADLINE_MS, () => `connection ${nth}`);
  }
}

/** The least that a server says of its machine. */
export const someEnvironment = { shell: { name: "sh", path: "/bin/sh" } };

/** The answer of `process/read` for a running process without output. */
export const emptyRead = {
  chunks: [],
  nextSeq: 1,
  exited: false,
  exitCode: null,
  closed: false,
  failure: null,
  sandboxDenied: false,
};

export const chunkOf = (seq: number, text: string, stream = "stdout") => ({
  seq,
  stream,
  chunk: Buffer.from(text).toString("base64"),
});
