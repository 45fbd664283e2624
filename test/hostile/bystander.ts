import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { withDeadline } from "../fault/deadline.ts";
import type { ServerUnderTest } from "../fault/server-under-test.ts";

const DEADLINE_MS = 30_000;
const program = fileURLToPath(new URL("bystander-process.mjs", import.meta.url));

/** What an uninvolved client saw during an attack. */
export interface Experience {
  readonly requests: number;
  /** The longest that an answer took, without the time in which the machine ran other processes. */
  readonly worstMs: number;
  readonly worstRawMs: number;
}

/**
 * A client that asks for the status all the time, from another process, so that an attack's own work cannot delay it.
 */
export class Bystander implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lost: Promise<never>;

  static async begin(server: ServerUnderTest): Promise<Bystander> {
    const bystander = new Bystander(fork(program, [server.url, String(server.pid)]));
    await bystander.#next("the bystander's session");
    return bystander;
  }

  constructor(child: ChildProcess) {
    this.#child = child;
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

  /** Since the last report. Throws when the connection was lost. */
  report(): Promise<Experience> {
    const reported = this.#next<Experience>("an answer to the bystander");
    this.#child.send("report");
    return reported;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }
}
