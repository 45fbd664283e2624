import type { TreeProgress, TreeResult } from "../../../client/files/trees.ts";
import { formatDuration, formatSize } from "../print/amounts.ts";
import { printable } from "../print/printable.ts";
import type { Total } from "./count-source.ts";

/** The rate is that of the last seconds. */
const WINDOW_MS = 5_000;

/** What the summary says. */
export interface CopySummary {
  files: number;
  directories: number;
  links: number;
  bytes: number;
  keptBytes: number;
}

/** How far a copy is, of one source after another. */
export class CopyProgress {
  readonly #began = performance.now();
  readonly #done: CopySummary = { files: 0, directories: 0, links: 0, bytes: 0, keptBytes: 0 };
  readonly #samples: { readonly at: number; readonly bytes: number }[] = [];
  #current: Omit<TreeProgress, "path"> | undefined;
  #path = "";
  /** Known when everything has been counted. */
  total: Total | undefined;

  update(progress: TreeProgress): void {
    this.#current = progress;
    this.#path = progress.path;
  }

  /** One source is complete. */
  add(result: TreeResult): void {
    this.#current = undefined;
    for (const key of Object.keys(this.#done) as (keyof CopySummary)[]) this.#done[key] += result[key] ?? 0;
  }

  get summary(): CopySummary {
    const current = this.#current;
    const sum = (key: keyof CopySummary): number => this.#done[key] + (current?.[key] ?? 0);
    return {
      files: sum("files"),
      directories: sum("directories"),
      links: sum("links"),
      bytes: sum("bytes"),
      keptBytes: sum("keptBytes"),
    };
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  /** One line, such as `42%  430 MiB of 1.0 GiB  210 MiB/s  2s left  src/large`. */
  line(now = performance.now()): string {
    const { bytes, keptBytes, files } = this.summary;
    const there = bytes + keptBytes;
    const rate = this.#rate(bytes, now);
    const { total } = this;
    const fraction =
      total === undefined
        ? undefined
        : total.bytes > 0
          ? there / total.bytes
          : files / Math.max(1, total.files);
    const left = total === undefined || rate <= 0 ? undefined : (total.bytes - there) / rate;
    return [
      fraction === undefined ? undefined : `${Math.min(100, Math.floor(fraction * 100))}%`.padStart(4),
      total === undefined ? formatSize(there) : `${formatSize(there)} of ${formatSize(total.bytes)}`,
      total !== undefined && total.files > 1 ? `${files} of ${total.files} files` : undefined,
      `${formatSize(Math.round(rate))}/s`,
      left === undefined ? undefined : `${formatDuration(Math.max(0, left) * 1000)} left`,
      printable(this.#path),
    ]
      .filter((part) => part !== undefined && part !== "")
      .join("  ");
  }

  /** Bytes per second. */
  #rate(bytes: number, now: number): number {
    this.#samples.push({ at: now, bytes });
    while (this.#samples.length > 2 && now - this.#samples[0]!.at > WINDOW_MS) this.#samples.shift();
    const first = this.#samples[0]!;
    if (now - first.at < 1) return 0;
    return Math.max(0, ((bytes - first.bytes) / (now - first.at)) * 1000);
  }
}
