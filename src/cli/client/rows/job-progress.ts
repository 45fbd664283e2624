import type { StartedJob } from "../../../rows/job/file-job.ts";
import type { RowsProgress } from "../../../rows/engine/rows-progress.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { counted, formatDuration } from "../../../base/amounts.ts";
import { ProgressLine, Rate } from "../print/progress-line.ts";

/** The rate covers the last seconds. */
const WINDOW_MS = 10_000;
/** Without a terminal, a line every so often. */
const LINE_MS = 10_000;
/** A wait that is shorter is not shown. */
const WAIT_MS = 1_000;

/** Shows how far a job is: on a terminal in one line, elsewhere in lines. */
export class JobProgress {
  readonly #rate = new Rate(WINDOW_MS);
  #rows = 0;
  #progress: Partial<RowsProgress> | undefined;
  #waitingSince: number | undefined;
  #line: ProgressLine | undefined;
  #timer: NodeJS.Timeout | undefined;

  begin({ rows }: Pick<StartedJob, "rows">): void {
    this.#rows = rows;
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
    const total = this.#rows;
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
    const rate = this.#rate.perSecond(ended, now);
    const bad = failed + lost;
    const isWaiting = this.#waitingSince !== undefined && now - this.#waitingSince >= WAIT_MS;
    return [
      `${total === 0 ? 100 : Math.floor((done / total) * 100)}%`.padStart(4),
      `${done} of ${total} rows`,
      ...(bad === 0 ? [] : [`${bad} failed`]),
      ...(isWaiting
        ? [`waiting: ${waiting}`]
        : [
            places === undefined
              ? `${running} running`
              : `${running} running on ${counted(places, "machine")}`,
          ]),
      ...(isWaiting || rate === 0
        ? []
        : [
            `${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`,
            `${formatDuration(((total - done) / rate) * 1000)} left`,
          ]),
    ].join("  ");
  }
}
