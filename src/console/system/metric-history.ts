/** A figure over time. */
export interface Figure {
  readonly title: string;
  /** Default: it is a number of things. */
  readonly unit?: "bytes" | "seconds" | "percent";
  /** Name in the exposition. */
  readonly metric: string;
  /** Whether the metric only grows, so that its growth per second is shown. */
  readonly isRate?: true;
}

export const FIGURES: readonly Figure[] = [
  { title: "Requests per second", metric: "exec_server_request_duration_seconds_count", isRate: true },
  { title: "Sent per second", unit: "bytes", metric: "exec_server_sent_bytes_total", isRate: true },
  { title: "Running processes", metric: "exec_server_processes_running" },
  { title: "Connections", metric: "exec_server_connections" },
  { title: "Server CPU", unit: "percent", metric: "process_cpu_seconds_total", isRate: true },
  { title: "Server memory", unit: "bytes", metric: "process_resident_memory_bytes" },
  { title: "Event loop delay (p99)", unit: "seconds", metric: "nodejs_eventloop_lag_p99_seconds" },
  { title: "Errors per second", metric: "exec_server_request_errors_total", isRate: true },
];

const MAX_SAMPLES = 300;

/** Samples scraped while the view is open. */
export class MetricHistory {
  readonly #times: number[] = [];
  readonly #values = new Map<Figure, number[]>(FIGURES.map((figure) => [figure, []]));
  #before: { readonly atMs: number; readonly metrics: ReadonlyMap<string, number> } | undefined;

  /** Adds a scrape. The first one gives no rates yet, so it is only remembered. */
  add(text: string, atMs: number): void {
    const metrics = parseMetrics(text);
    const before = this.#before;
    this.#before = { atMs, metrics };
    if (before === undefined || atMs <= before.atMs) return;
    const seconds = (atMs - before.atMs) / 1000;
    push(this.#times, atMs / 1000);
    for (const [figure, values] of this.#values) {
      const { metric, isRate, unit } = figure;
      const now = metrics.get(metric) ?? 0;
      // A server that was restarted counts from zero.
      const growth = Math.max(0, now - (before.metrics.get(metric) ?? 0)) / seconds;
      push(values, (isRate ? growth : now) * (unit === "percent" ? 100 : 1));
    }
  }

  /** Times in seconds since the epoch, and the values at them. */
  of(figure: Figure): { readonly times: readonly number[]; readonly values: readonly number[] } {
    return { times: this.#times, values: this.#values.get(figure) ?? [] };
  }
}

function push(list: number[], value: number): void {
  list.push(value);
  if (list.length > MAX_SAMPLES) list.shift();
}

const SAMPLE = /^([a-z_]+)(?:\{[^}]*\})? ([0-9.e+-]+)/i;

/** The samples of an OpenMetrics text by name; those that differ only in their labels are added up. */
export function parseMetrics(text: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = SAMPLE.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}
