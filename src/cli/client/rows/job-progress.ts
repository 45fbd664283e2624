import type { StartedJob } from "../../../rows/job/file-job.ts";
import type { RowsProgress } from "../../../rows/engine/rows-progress.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { formatDuration } from "../print/amounts.ts";
import { ProgressLine } from "../print/progress-line.ts";

/** The rate is that of the last seconds. */
const WINDOW_MS = 10_000;
/** Without a terminal, a line now and then. */
const LINE_MS = 10_000;
/** A wait that is shorter is not shown. */
const WAIT_MS = 1_000;

function machinesText(count: number): string {
  return count === 1 ? "1 machine" : `${count} machines`;
}

/** Shows how far a job is: on a terminal in one line, elsewhere in lines. */
export class JobProgress {
  readonly #samples: { readonly at: number; readonly ended: number }[] = [];
  #job: Pick<StartedJob, "rows"> | undefined;
  #progress: Partial<RowsProgress> | undefined;
  #waitingSince: number | undefined;
  #line: ProgressLine | undefined;
  #timer: NodeJS.Timeout | undefined;

  begin(job: Pick<StartedJob, "rows">): void {
    this.#job = job;
    this.#line = ProgressLine.onStderr(() => this.text());
    if (this.#line !== undefined) return;
    this.#timer = setInterval(() => writeErr(`exec-server: ${this.text().trim()}\n`), LINE_MS).unref();
  }

  update(progress: Partial<RowsProgress>, now = performance.now()): void {
    this.#progress = progress;
    this.#waitingSince = progress.waiting === undefined ? undefined : (this.#waitingSince ?? now);
  }

  end(): void {
    this.#line?.end();
    clearInterval(this.#timer);
  }

  /**
   * One line, such as ` 42%  420 of 1000 rows  3 failed  16 running  85/s  7s left`, or, if nothing can run,
   * ` 42%  420 of 1000 rows  waiting: 3 machines match, all full (12 of 12 slots)`.
   */
  text(now = performance.now()): string {
    const total = this.#job?.rows ?? 0;
    const {
      completed = 0,
      failed = 0,
      cancelled = 0,
      lost = 0,
      running = 0,
      ended = 0,
      places,
      waiting = "",
    } = this.#progress ?? {};
    const done = completed + failed + cancelled + lost;
    const rate = this.#rate(ended, now);
    const bad = failed + lost;
    const isWaiting = this.#waitingSince !== undefined && now - this.#waitingSince >= WAIT_MS;
    return [
      `${total === 0 ? 100 : Math.floor((done / total) * 100)}%`.padStart(4),
      `${done} of ${total} rows`,
      ...(bad === 0 ? [] : [`${bad} failed`]),
      ...(isWaiting
        ? [`waiting: ${waiting}`]
        : [places === undefined ? `${running} running` : `${running} running on ${machinesText(places)}`]),
      ...(isWaiting || rate === 0
        ? []
        : [
            `${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`,
            `${formatDuration(((total - done) / rate) * 1000)} left`,
          ]),
    ].join("  ");
  }

  /** Rows per second. */
  #rate(ended: number, now: number): number {
    this.#samples.push({ at: now, ended });
    while (this.#samples.length > 2 && now - this.#samples[0]!.at > WINDOW_MS) this.#samples.shift();
    const first = this.#samples[0]!;
    return now - first.at < 1 ? 0 : ((ended - first.ended) / (now - first.at)) * 1000;
  }
}
