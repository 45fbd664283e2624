import type { TreeProgress, TreeResult } from "../../../client/files/trees.ts";
import { formatDuration, formatSize } from "../../../base/amounts.ts";
import { printable } from "../print/printable.ts";
import { Rate } from "../print/progress-line.ts";
import type { Total } from "./count-source.ts";

/** The rate covers the last seconds. */
const WINDOW_MS = 5_000;

/** Contents of the summary. */
interface CopySummary {
  files: number;
  directories: number;
  links: number;
  bytes: number;
  keptBytes: number;
}

/** Progress of a copy, one source after another. */
export class CopyProgress {
  readonly #began = performance.now();
  readonly #done: CopySummary = { files: 0, directories: 0, links: 0, bytes: 0, keptBytes: 0 };
  readonly #rate = new Rate(WINDOW_MS);
  #current: Partial<CopySummary> = {};
  #path = "";
  /** Known when everything has been counted. */
  total: Total | undefined;

  update(progress: TreeProgress): void {
    this.#current = progress;
    this.#path = progress.path;
  }

  /** Adds a complete source. */
  add(result: TreeResult): void {
    this.#current = {};
    addTo(this.#done, result);
  }

  get summary(): CopySummary {
    return addTo({ ...this.#done }, this.#current);
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  /** One line, such as `42% 430 MiB of 1.0 GiB 210 MiB/s 2s left src/large`. */
  line(): string {
    const { bytes, keptBytes, files } = this.summary;
    const arrived = bytes + keptBytes;
    const rate = this.#rate.perSecond(bytes);
    const { total } = this;
    const fraction =
      total === undefined
        ? undefined
        : total.bytes > 0
          ? arrived / total.bytes
          : files / Math.max(1, total.files);
    const left = total === undefined || rate <= 0 ? undefined : (total.bytes - arrived) / rate;
    return [
      fraction === undefined ? undefined : `${Math.min(100, Math.floor(fraction * 100))}%`.padStart(4),
      total === undefined ? formatSize(arrived) : `${formatSize(arrived)} of ${formatSize(total.bytes)}`,
      total !== undefined && total.files > 1 ? `${files} of ${total.files} files` : undefined,
      `${formatSize(Math.round(rate))}/s`,
      left === undefined ? undefined : `${formatDuration(Math.max(0, left) * 1000)} left`,
      printable(this.#path),
    ]
      .filter((part) => part !== undefined && part !== "")
      .join("  ");
  }
}

function addTo(sum: CopySummary, counts: Partial<CopySummary>): CopySummary {
  for (const key of Object.keys(sum) as (keyof CopySummary)[]) sum[key] += counts[key] ?? 0;
  return sum;
}
