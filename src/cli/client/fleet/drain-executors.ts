import type { Executor } from "../../../client/host/executor.ts";
import type { Fleet } from "../../../client/host/fleet.ts";
import { formatDuration } from "../../../base/amounts.ts";
import { complain } from "../print/complain.ts";
import { ProgressLine } from "../print/progress-line.ts";
import { someOf } from "../print/some-of.ts";
import { TIMED_OUT_STATUS } from "../outcome/exit-status.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { type ChosenExecutor, ExecutorChoice, type ExecutorsOptions } from "./chosen-executors.ts";
import { cordonAll } from "./cordon-executors.ts";

/**
 * Takes executors out of the choice and waits until nothing runs there. Resolves with the highest status of all: 0 for
 * one that is empty, 1 for one that is lost, 124 for one that is not empty in time.
 */
export async function drain(
  words: readonly string[],
  { timeout, ...options }: ExecutorsOptions & { readonly timeout?: number },
): Promise<number> {
  const choice = new ExecutorChoice(words, options);
  const remedy = remedyFor(choice.words, choice.isOne);
  return await untilInterrupted(
    (signal) =>
      choice.use(signal, async ({ executors, isComplete }) => {
        const cordoned = await cordonAll(executors, true, signal);
        const draining = new Draining(cordoned);
        if (!isComplete || cordoned.length < executors.length) draining.status = 1;
        await draining.wait(signal, timeout);
        return draining.status;
      }),
    remedy,
  );
}

const remedyFor = (words: string, isOne = true): string =>
  `${isOne ? "it stays" : "they stay"} cordoned: 'exec-server fleet uncordon ${words}' undoes that`;

/** Executors that are to become empty. */
class Draining {
  readonly #count: number;
  /** Executors that are not empty yet. */
  readonly #left: Map<string, ChosenExecutor>;
  readonly #started = Date.now();
  #line: ProgressLine | undefined;
  #done = (): void => {};
  status = 0;

  constructor(executors: readonly ChosenExecutor[]) {
    this.#count = executors.length;
    this.#left = new Map(executors.map((executor) => [executor.name, executor]));
  }

  /** Resolves when all are empty or lost, or the time is over. */
  async wait(signal: AbortSignal, timeoutMs: number | undefined): Promise<void> {
    const fleets = new Set([...this.#left.values()].map(({ fleet }) => fleet));
    let unwatch: (() => void)[] = [];
    let timer: NodeJS.Timeout | undefined;
    this.#line = ProgressLine.onStderr(() => this.#progress());
    try {
      await new Promise<void>((resolve, reject) => {
        this.#done = resolve;
        unwatch = [...fleets].map((fleet) => fleet.watch(() => this.#checkDrained()));
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (timeoutMs !== undefined) timer = setTimeout(() => this.#giveUp(timeoutMs), timeoutMs);
        this.#checkDrained();
      });
    } finally {
      clearTimeout(timer);
      for (const stop of unwatch) stop();
      this.#line?.end();
    }
  }

  /** States of executors that are not empty yet. A missing one has left. */
  #states(): { readonly name: string; readonly now: Executor | undefined }[] {
    const lists = new Map<Fleet, ReadonlyMap<string, Executor>>();
    return [...this.#left.values()].map(({ fleet, id, name }) => {
      const list = lists.get(fleet) ?? new Map(fleet.list().map((executor) => [executor.id, executor]));
      lists.set(fleet, list);
      return { name, now: list.get(id) };
    });
  }

  #checkDrained(): void {
    for (const { name, now } of this.#states()) {
      // It may have ended, but NATS may also have lost it while everything there keeps running.
      if (now === undefined) this.#end(name, 1, `${name} left the fleet before it was empty`);
      else if (now.state === "ready")
        this.#end(name, 1, `${name} gets new work again: it was uncordoned, or its server was restarted`);
      else if (now.running === 0) this.#end(name, 0, `nothing is running on ${name}`);
    }
    if (this.#left.size === 0) this.#done();
  }

  #giveUp(timeoutMs: number): void {
    const time = timeoutMs < 1000 ? `${timeoutMs}ms` : formatDuration(timeoutMs);
    for (const { name, now } of this.#states()) {
      const still = processes(now?.running ?? 0);
      this.#end(name, TIMED_OUT_STATUS, `${name}: ${still} after ${time}; ${remedyFor(name)}`);
    }
    this.#done();
  }

  #end(name: string, status: number, message: string): void {
    this.#left.delete(name);
    this.status = Math.max(this.status, status);
    this.#line?.clear();
    complain(message);
  }

  /** `prod/web-1: 3 processes run (12s)`, or `2 of 5 empty: 7 processes run on prod/web-1, prod/web-4 (12s)`. */
  #progress(): string {
    const left = this.#states();
    const names = someOf(left.map(({ name }) => name));
    const running = processes(left.reduce((sum, { now }) => sum + (now?.running ?? 0), 0));
    const time = formatDuration(Date.now() - this.#started);
    if (this.#count === 1) return `${names}: ${running} (${time})`;
    return `${this.#count - left.length} of ${this.#count} empty: ${running} on ${names} (${time})`;
  }
}

function processes(count: number): string {
  return count === 1 ? "1 process runs" : `${count} processes run`;
}
