import { expect } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { forgetPeak, isAlive, openDescriptors, peakResidentBytes } from "../fault/proc-fs.ts";
import { type ServerOptions, type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import {
  type Notification,
  openSession,
  type ReadResult,
  type SessionClient,
} from "../fault/session-client.ts";
import { Bystander } from "./bystander.ts";

const MIB = 1024 * 1024;
export const MAX_LATENCY_MS = 250;
/**
 * The program, and six times the longest message: its bytes, text and value, and as much that is not collected yet. Peaks
 * of 365 to 419 MiB were seen, depending on when memory is collected, and 350 to 368 MiB with a heap of 256 MiB.
 */
export const MAX_RESIDENT_BYTES = 448 * MIB;
/** Longer than every deadline that a server sets for a stranger. */
const SETTLE_DEADLINE_MS = 60_000;
/** No measure of a latency counts that was taken too seldom. */
const MIN_REQUESTS = 2;

/** The built program, with a bystander: whatever is done to the server, `expectUnharmed` checks whether it held. */
export class AttackedServer implements AsyncDisposable {
  readonly server: ServerUnderTest;
  readonly #bystander: Bystander;
  readonly #descriptors: number;

  static async start(options: ServerOptions = {}): Promise<AttackedServer> {
    const server = await startServer(options);
    try {
      const bystander = await Bystander.begin(server);
      // Memory that the first use of each part takes is not a leak.
      const warm = await openSession(server.url);
      await work(warm);
      const before = descriptors(server.pid).length;
      warm.cut();
      await pollUntil(
        () => descriptors(server.pid).length < before,
        SETTLE_DEADLINE_MS,
        () => "the end of the first session",
      );
      await bystander.report();
      forgetPeak(server.pid);
      return new AttackedServer(server, bystander);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  constructor(server: ServerUnderTest, bystander: Bystander) {
    this.server = server;
    this.#bystander = bystander;
    this.#descriptors = descriptors(server.pid).length;
  }

  /** A client with its own session. */
  session(onNotification: (notification: Notification) => void = () => {}): Promise<SessionClient> {
    return openSession(this.server.url, { onNotification });
  }

  /** Asserts that other clients did not have to wait since the last check. */
  async expectPrompt(what: string, mostMs = MAX_LATENCY_MS): Promise<void> {
    const { requests, worstMs, worstRawMs } = await this.#bystander.report();
    expect(requests, what).toBeGreaterThanOrEqual(MIN_REQUESTS);
    expect(
      worstMs,
      `${what}: the slowest answer to a bystander, of ${Math.round(worstRawMs)} ms in all`,
    ).toBeLessThan(mostMs);
  }

  /** Resolves when the bystander waits for an answer. */
  async bystanderWaits(): Promise<void> {
    await this.#bystander.asked();
  }

  /** The longest wait of anyone else since the last check. */
  async slowestMs(): Promise<number> {
    return (await this.#bystander.report()).worstMs;
  }

  /** Asserts that memory has not gone beyond the bound since the last time. */
  expectModest(what: string, mostBytes = MAX_RESIDENT_BYTES): void {
    expect(peakResidentBytes(this.server.pid) / MIB, `${what}: MiB resident at most`).toBeLessThan(
      mostBytes / MIB,
    );
    forgetPeak(this.server.pid);
  }

  /** Asserts that the server holds no more descriptors than before. */
  async expectNothingLeft(what: string, deadlineMs = SETTLE_DEADLINE_MS): Promise<void> {
    const { pid } = this.server;
    await pollUntil(
      () => descriptors(pid).length <= this.#descriptors,
      deadlineMs,
      () =>
        `${what}: ${descriptors(pid).length} descriptors to become ${this.#descriptors}: ${descriptors(pid).join(" ")}`,
    );
  }

  /** Asserts that the server lives and that a new client can start a process, and gets its output and its end. */
  async expectAtWork(what: string): Promise<void> {
    expect(isAlive(this.server.pid), `${what}: the server is alive`).toBe(true);
    const session = await this.session();
    expect(await work(session), what).toBe("at work\n");
    session.cut();
  }

  /** All of it. */
  async expectUnharmed(what: string): Promise<void> {
    await this.expectAtWork(what);
    await this.expectNothingLeft(what);
    await this.expectPrompt(what);
    this.expectModest(what);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bystander[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

/** Open descriptors without the one for watches, which comes with the first of them and stays. */
function descriptors(pid: number): string[] {
  return openDescriptors(pid).filter((name) => name !== "anon_inode:inotify");
}

/** Starts a process and returns its output once it is over. */
async function work(session: SessionClient): Promise<string> {
  const start = { processId: "p", argv: ["echo", "at work"], cwd: "file:///", tty: false };
  await session.request("process/start", { ...start, env: { PATH: "/usr/bin:/bin" } });
  const read = { processId: "p", afterSeq: 0, waitMs: 10_000 };
  let output = "";
  for (;;) {
    const { chunks, closed } = await session.request<ReadResult>("process/read", read);
    for (const { seq, chunk } of chunks) {
      output += Buffer.from(chunk, "base64").toString();
      read.afterSeq = seq;
    }
    if (closed) return output;
  }
}
