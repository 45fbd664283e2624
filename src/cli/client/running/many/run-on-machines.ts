import { anySignal } from "../../../../base/deadlines.ts";
import type { Host } from "../../../../client/host/host.ts";
import { type Executor, hasLabels } from "../../../../client/host/executor.ts";
import type { StartOptions } from "../../../../client/process/start-request.ts";
import { type OnOptions, openChosenFleet } from "../../fleet/chosen-machines.ts";
import { showLabels } from "../../fleet/parse-labels.ts";
import { Failure, OWN_FAILURE_STATUS } from "../../../shared/failure.ts";
import { formatDuration } from "../../../../base/amounts.ts";
import { complain } from "../../print/complain.ts";
import { ProgressLine } from "../../print/progress-line.ts";
import { someOf } from "../../print/some-of.ts";
import { untilInterrupted } from "../../outcome/until-interrupted.ts";
import { ask } from "./answer.ts";
import { AnswerGroups } from "./answer-groups.ts";
import { printAnswers, printAnswersAsJson } from "./print-answers.ts";

/** Options of `run` for many machines. */
export interface ManyOptions extends OnOptions {
  readonly maxConcurrency?: number;
  readonly failFast?: boolean;
  readonly json?: boolean;
}

const DEFAULT_CONCURRENCY = 32;

/** Runs a command on many machines, and prints their answers. Resolves with the highest status. */
export async function runOnMachines(
  argv: readonly string[],
  options: ManyOptions,
  start: (host: Host) => StartOptions,
): Promise<number> {
  return await untilInterrupted(async (signal) => {
    await using fleet = await openChosenFleet(options, signal);
    const chosen = choose(fleet.list(), options);
    const run = new ManyRun(chosen, options, signal);
    try {
      await run.run((id, stop) =>
        ask({ connect: (more) => fleet.connect(id, more), argv, start, signal: stop }),
      );
    } finally {
      await run.report();
    }
    signal.throwIfAborted();
    return run.status;
  });
}

/** Machines that accept work. */
function choose(all: readonly Executor[], { on = {} }: ManyOptions): string[] {
  const wanted = all.filter((executor) => hasLabels(executor, on));
  const which = Object.keys(on).length === 0 ? "" : ` with ${showLabels(on)}`;
  const resting = wanted.filter(({ state }) => state !== "ready").map(({ id }) => id);
  const chosen = wanted.filter(({ state }) => state === "ready").map(({ id }) => id);
  if (chosen.length === 0)
    throw new Failure(
      resting.length === 0
        ? `the fleet has no machine${which}; 'exec-server fleet ls' lists all`
        : `every machine in the fleet${which} refuses new work: ${someOf(resting)} ${areCordoned(resting.length)}`,
      OWN_FAILURE_STATUS,
    );
  if (resting.length > 0) complain(`left out: ${someOf(resting)} ${areCordoned(resting.length)}`);
  return chosen;
}

const areCordoned = (count: number): string => `${count === 1 ? "is" : "are"} cordoned or draining`;

/** A command on its way through the machines. */
class ManyRun {
  readonly #names: readonly string[];
  readonly #options: ManyOptions;
  readonly #groups = new AnswerGroups();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #startedAt = performance.now();
  /** Machines on which it did not run, or was ended. */
  readonly #skipped: string[] = [];
  #next = 0;
  #running = 0;
  #answered = 0;
  #failed = 0;
  status = 0;

  constructor(names: readonly string[], options: ManyOptions, signal: AbortSignal) {
    this.#names = names;
    this.#options = options;
    this.#signal = anySignal([signal, this.#stop.signal]);
  }

  async run(askOne: (name: string, signal: AbortSignal) => ReturnType<typeof ask>): Promise<void> {
    const line = ProgressLine.onStderr(() => this.#progress());
    const { maxConcurrency = DEFAULT_CONCURRENCY } = this.#options;
    const workers = Math.min(maxConcurrency, this.#names.length);
    try {
      await Promise.all(Array.from({ length: workers }, () => this.#work(askOne)));
    } finally {
      line?.end();
    }
  }

  async report(): Promise<void> {
    const groups = this.#groups.list();
    if (this.#options.json === true) await printAnswersAsJson(groups);
    else await printAnswers(groups);
    const skipped = [...this.#skipped, ...this.#names.slice(this.#next)].toSorted();
    if (skipped.length > 0) complain(`not run, or ended early: ${skipped.join(", ")}`);
  }

  async #work(askOne: (name: string, signal: AbortSignal) => ReturnType<typeof ask>): Promise<void> {
    while (!this.#signal.aborted && this.#next < this.#names.length) {
      const name = this.#names[this.#next++]!;
      this.#running += 1;
      try {
        // A separate signal: Node warns of a leak if many listen to the same one.
        const answer = await askOne(name, anySignal([this.#signal]));
        this.#groups.add(name, answer);
        this.#answered += 1;
        this.status = Math.max(this.status, answer.status);
        if (answer.status === 0) continue;
        this.#failed += 1;
        if (this.#options.failFast === true) this.#stop.abort(new Failure("it failed elsewhere"));
      } catch (error) {
        if (!this.#signal.aborted) throw error;
        this.#skipped.push(name);
      } finally {
        this.#running -= 1;
      }
    }
  }

  #progress(): string {
    return [
      `${this.#answered} of ${this.#names.length} machines`,
      ...(this.#failed === 0 ? [] : [`${this.#failed} failed`]),
      `${this.#running} running`,
      formatDuration(performance.now() - this.#startedAt),
    ].join("  ");
  }
}
