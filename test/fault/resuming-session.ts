import { setTimeout as delay } from "node:timers/promises";
import { withDeadline } from "./deadline.ts";
import { ProcessRecord } from "./process-record.ts";
import type { SeededRandom } from "./seeded-random.ts";
import {
  ConnectionLost,
  type Notification,
  type ReadResult,
  RpcFailure,
  SessionClient,
  type StartOptions,
  startParams,
} from "./session-client.ts";
import { targetIsCodex } from "./server-under-test.ts";

const RECOVERY_DEADLINE_MS = 60_000;
const SESSION_ALREADY_ATTACHED = -32010;
const RETRY_MS = 2;
const LONGEST_OUTAGE_MS = 20;

/** A session whose connection is cut after chosen messages, and which resumes as a careful client does. */
export class ResumingSession {
  readonly records = new Map<string, ProcessRecord>();
  /** Messages sent and received so far, over all connections. */
  messages = 0;
  cuts = 0;
  #url: string;
  #random: SeededRandom;
  #cutAfter: number[];
  #client: SessionClient | undefined;
  #sessionId: string | undefined;
  #started = new Set<string>();
  #attached: Promise<SessionClient>;
  #deliberatelyAway: Promise<void> | undefined;
  #news = new Set<() => void>();
  #failure: unknown;
  #over = false;

  constructor(url: string, options: { cutAfter: readonly number[]; random: SeededRandom }) {
    this.#url = url;
    this.#random = options.random;
    this.#cutAfter = [...options.cutAfter].sort((a, b) => a - b);
    this.#attached = this.#attach();
    this.#attached.catch((error) => this.#fail(error));
  }

  #fail(error: unknown): void {
    this.#failure = error;
    for (const look of this.#news) look();
  }

  #count(): void {
    this.messages++;
    if (this.#cutAfter[0] !== undefined && this.messages >= this.#cutAfter[0]) {
      this.#cutAfter.shift();
      this.#cut();
    }
  }

  #cut(): void {
    if (this.#client === undefined || this.#client.isLost) return;
    this.cuts++;
    this.#client.cut(this.#random.pick(["fin", "reset"]));
  }

  #notified(notification: Notification): void {
    this.records.get(notification.params.processId)?.addNotification(notification);
    for (const look of this.#news) look();
  }

  /** Connects, attaches to the session and catches up; begins again whenever it is cut on the way. */
  async #attach(): Promise<SessionClient> {
    const end = performance.now() + RECOVERY_DEADLINE_MS;
    for (;;) {
      try {
        return await this.#attachOnce();
      } catch (error) {
        if (!(error instanceof ConnectionLost) || performance.now() > end) throw error;
      }
    }
  }

  async #attachOnce(): Promise<SessionClient> {
    let counting = true;
    const client = await SessionClient.connect(this.#url, {
      onNotification: (notification) => this.#notified(notification),
      onTraffic: () => {
        if (counting) this.#count();
      },
    });
    this.#client = client;
    for (;;) {
      try {
        this.#sessionId = await client.initialize(this.#sessionId);
        break;
      } catch (error) {
        if (!(error instanceof RpcFailure && error.code === SESSION_ALREADY_ATTACHED)) throw error;
        // How often the server must be asked depends on chance; counting it would blur where the cuts fall.
        counting = false;
        await delay(RETRY_MS);
      }
      counting = true;
    }
    counting = true;
    await Promise.all(
      [...this.#started]
        .map((processId) => this.#record(processId))
        .filter((record) => !record.isClosed || record.lostEvents > 0)
        .map((record) => this.#catchUp(client, record)),
    );
    void client.closed.then(() => this.#reattach(client));
    return client;
  }

  #reattach(lost: SessionClient): void {
    if (this.#over || lost !== this.#client) return;
    this.#attached = this.#outage().then(() => this.#attach());
    this.#attached.catch((error) => this.#fail(error));
  }

  async #outage(): Promise<void> {
    // The length of the outage is part of the fault: output must happen before, during and after it.
    const outageMs = this.#random.pick([0, this.#random.between(0, LONGEST_OUTAGE_MS)]);
    if (outageMs > 0) await delay(outageMs);
    await this.#deliberatelyAway;
  }

  async #catchUp(client: SessionClient, record: ProcessRecord): Promise<void> {
    const afterSeq = record.contiguous;
    const { processId } = record;
    const params = { processId, afterSeq, maxBytes: null, waitMs: 0 };
    record.addRead(await client.request<ReadResult>("process/read", params), afterSeq);
    for (const look of this.#news) look();
  }

  #record(processId: string): ProcessRecord {
    const record = this.records.get(processId) ?? new ProcessRecord(processId);
    this.records.set(processId, record);
    return record;
  }

  /** Runs `work` on the current connection, again on the next one when it is lost meanwhile. */
  async #persist<T>(work: (client: SessionClient, attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.#attached;
      if (client.isLost) {
        await client.closed;
        await Promise.resolve();
        continue;
      }
      try {
        return await work(client, attempt);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        await client.closed;
      }
    }
  }

  /**
   * A start whose answer was lost is sent again. The process may exist by then, and may even still be starting; a server
   * may also have given up the start together with the connection.
   */
  async start(processId: string, argv: readonly string[], options: StartOptions = {}): Promise<void> {
    const record = this.#record(processId);
    const end = performance.now() + RECOVERY_DEADLINE_MS;
    const isRefusal = (error: unknown, text: string) =>
      error instanceof RpcFailure && error.message.includes(text);
    await this.#persist(async (client, attempt) => {
      for (;;) {
        try {
          await client.request("process/start", startParams(processId, argv, options));
          this.#started.add(processId);
          return;
        } catch (error) {
          if (attempt === 1 || !isRefusal(error, "already exists")) throw error;
        }
        try {
          await this.#catchUp(client, record);
          this.#started.add(processId);
          return;
        } catch (error) {
          const settlesSoon = isRefusal(error, "is starting") || isRefusal(error, "unknown process id");
          if (!settlesSoon || performance.now() > end) throw error;
          await delay(RETRY_MS);
        }
        // The real server can leave a start that lost its connection "starting" forever; its client terminates it.
        if (targetIsCodex) await client.request("process/terminate", { processId });
      }
    });
  }

  async write(processId: string, text: string, writeId: string): Promise<void> {
    const params = { processId, chunk: Buffer.from(text).toString("base64"), writeId };
    const { status } = await this.#persist((client) =>
      client.request<{ status: string }>("process/write", params),
    );
    if (status !== "accepted") throw new Error(`process/write to ${processId}: ${status}`);
  }

  /** Cuts the connection and resumes only when `moment` has come. */
  async stayAwayUntil(moment: () => Promise<void>): Promise<void> {
    await this.#persist(async (client) => {
      this.#deliberatelyAway = moment();
      this.#cut();
      await client.closed;
      await this.#deliberatelyAway;
    });
  }

  /** Resolves once `seen` holds for what is known of the process. */
  until(processId: string, seen: (record: ProcessRecord) => boolean, deadlineMs: number): Promise<void> {
    const record = this.#record(processId);
    let look = () => {};
    const holds = new Promise<void>((resolve, reject) => {
      look = () => {
        if (this.#failure !== undefined) reject(this.#failure);
        else if (seen(record)) resolve();
      };
      this.#news.add(look);
      look();
    });
    return withDeadline(holds, deadlineMs, () => String(record)).finally(() => this.#news.delete(look));
  }

  /** Resolves when the session is attached and has caught up with every process. */
  async settled(): Promise<void> {
    await this.#persist(async () => {});
  }

  /** What the server still has of a process. Adds nothing to the record. */
  readRetained(processId: string): Promise<ReadResult> {
    const params = { processId, afterSeq: 0, maxBytes: null, waitMs: 0 };
    return this.#persist((client) => client.request<ReadResult>("process/read", params));
  }

  close(): void {
    this.#over = true;
    this.#cutAfter = [];
    this.#client?.cut();
  }
}
