import type { ListedProcess } from "../../client/browser.ts";

/** Number of measurements kept for the charts. */
export const HISTORY = 60;

/** A process as the page shows it. */
export interface ProcessRow {
  /** Stays the same for as long as the process is listed. */
  readonly key: string;
  readonly listed: ListedProcess;
  /** Share of one processor, in percent; undefined until it was measured twice. */
  readonly cpu: number | undefined;
  /** Bytes of output in a second. */
  readonly rate: number;
  readonly cpus: readonly number[];
  readonly memory: readonly number[];
  readonly rates: readonly number[];
}

interface Measured extends ProcessRow {
  readonly atMs: number;
}

/** Makes rates out of totals, from one list to the next. */
export class ProcessHistory {
  #rows = new Map<string, Measured>();
  #clockMs = 0;

  /** Current time by the server's clock. */
  get clockMs(): number {
    return this.#clockMs;
  }

  /** `nowMs` is the page's clock, which only has to be steady. */
  update(listed: readonly ListedProcess[], nowMs: number, wallMs = Date.now()): readonly ProcessRow[] {
    const rows = new Map<string, Measured>();
    for (const process of listed) {
      const key = processKey(process);
      rows.set(key, measure(key, process, this.#rows.get(key), nowMs));
    }
    this.#rows = rows;
    const measuredMs = Math.max(...listed.map(({ usage }) => usage?.atMs ?? 0), 0);
    if (measuredMs > 0) this.#clockMs = measuredMs - wallMs;
    return [...rows.values()];
  }
}

function processKey({ name, owner, processId, startedAtMs, pid }: ListedProcess): string {
  return `${owner ?? ""}/${name ?? processId}/${startedAtMs}/${pid}`;
}

function measure(key: string, listed: ListedProcess, before: Measured | undefined, atMs: number): Measured {
  const seconds = before === undefined ? 0 : (atMs - before.atMs) / 1000;
  const written = listed.outputBytes - (before?.listed.outputBytes ?? 0);
  const rate = seconds > 0 ? Math.max(0, written / seconds) : 0;
  const cpu = cpuOf(listed, before);
  const { usage } = listed;
  return {
    key,
    listed,
    cpu,
    rate,
    atMs,
    cpus: usage === undefined ? (before?.cpus ?? []) : push(before?.cpus, cpu ?? 0),
    memory: usage === undefined ? (before?.memory ?? []) : push(before?.memory, usage.memoryBytes),
    rates: push(before?.rates, rate),
  };
}

/** Several pages share one measurement, so its own time counts. */
function cpuOf({ usage }: ListedProcess, before: Measured | undefined): number | undefined {
  const last = before?.listed.usage;
  if (usage === undefined || last === undefined) return undefined;
  const spanMs = usage.atMs - last.atMs;
  if (spanMs <= 0) return before?.cpu;
  // Time of children that are not waited for is lost.
  return Math.max(0, ((usage.cpuMs - last.cpuMs) / spanMs) * 100);
}

function push(values: readonly number[] | undefined, value: number): readonly number[] {
  return [...(values ?? []).slice(1 - HISTORY), value];
}
