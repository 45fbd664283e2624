import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { withDeadline } from "../fault/deadline.ts";
import type { ServerUnderTest } from "../fault/server-under-test.ts";
import { MachineStalls } from "../fixtures/machine-stalls.ts";

const DEADLINE_MS = 60_000;
const program = fileURLToPath(new URL("bystander-process.mjs", import.meta.url));

/** What an uninvolved client saw during an attack. */
export interface Experience {
  readonly requests: number;
  /** The longest that an answer took, without the time in which the machine ran other processes or stood still. */
  readonly worstMs: number;
  readonly worstRawMs: number;
}

/** What the process says: slow answers by the clock, without the time in which the machine ran others. */
interface Report {
  readonly requests: number;
  /** The longest of all other answers. */
  readonly usual: number;
  readonly slow: readonly { readonly from: number; readonly to: number; readonly ms: number }[];
}

/**
 * A client that asks for the status all the time, from another process, so that an attack's own work cannot delay it.
 */
export class Bystander implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lost: Promise<never>;
  readonly #stalls: MachineStalls;

  static async begin(server: ServerUnderTest): Promise<Bystander> {
    const stalls = await MachineStalls.watch();
    const bystander = new Bystander(fork(program, [server.url, String(server.pid)]), stalls);
    await bystander.#next("the bystander's session");
    return bystander;
  }

  constructor(child: ChildProcess, stalls: MachineStalls) {
    this.#child = child;
    this.#stalls = stalls;
    this.#lost = once(child, "exit").then(([code]) => {
      throw new Error(`the bystander lost its connection (exit ${code})`);
    });
    this.#lost.catch(() => {}); // whoever waits next hears of it
  }

  async #next<T>(what: string): Promise<T> {
    const [message] = await withDeadline(
      Promise.race([once(this.#child, "message"), this.#lost]),
      DEADLINE_MS,
      () => what,
    );
    return message as T;
  }

  /** Resolves when a question has been asked that is not answered yet. */
  async asked(): Promise<void> {
    const asked = this.#next("a question of the bystander");
    this.#child.send("asked");
    await asked;
  }

  /** Since the last report. Throws when the connection was lost. */
  async report(): Promise<Experience> {
    const reported = this.#next<Report>("an answer to the bystander");
    this.#child.send("report");
    const { requests, usual, slow } = await reported;
    if (slow.length === 0) return { requests, worstMs: usual, worstRawMs: usual };
    const stalledMs = await this.#stalls.recall();
    return {
      requests,
      worstMs: Math.max(usual, ...slow.map(({ from, to, ms }) => ms - stalledMs(from, to))),
      worstRawMs: Math.max(usual, ...slow.map(({ from, to }) => to - from)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }
}
