import type { Environment } from "./environment.ts";

/** Counts what a relay does, for its page of metrics. */
export class RelayMetrics {
  #frames = 0;
  #bytes = 0;
  /** By the code of the answer, of which there are few. */
  readonly #refusals = new Map<string, number>();

  received(bytes: number): void {
    this.#frames += 1;
    this.#bytes += bytes;
  }

  refused(code: string): void {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1);
  }

  /** The page as Prometheus reads it. */
  page(environments: readonly Environment[]): string {
    const sum = (count: (environment: Environment) => number): number =>
      environments.reduce((total, environment) => total + count(environment), 0);
    const refusals = Array.from(this.#refusals, ([code, count]) => [`{code="${code}"}`, count] as const);
    return [
      metric("gauge", "environments", "Environments that are registered.", environments.length),
      metric(
        "gauge",
        "executors",
        "Executors that are connected.",
        sum(({ isOnline }) => Number(isOnline)),
      ),
      metric(
        "gauge",
        "clients",
        "Clients that are connected.",
        sum(({ clients }) => clients.size),
      ),
      metric(
        "gauge",
        "queued_bytes",
        "Bytes that wait to be sent.",
        sum(({ queuedBytes }) => queuedBytes),
      ),
      metric("counter", "frames_total", "Frames that have come in.", this.#frames),
      metric("counter", "bytes_total", "Bytes of these frames.", this.#bytes),
      metric("counter", "refusals_total", "Requests that were refused, by code.", refusals),
    ].join("");
  }
}

function metric(
  type: "gauge" | "counter",
  suffix: string,
  help: string,
  values: number | readonly (readonly [labels: string, value: number])[],
): string {
  const name = `exec_server_relay_${suffix}`;
  const lines = typeof values === "number" ? [["", values] as const] : values;
  const samples = lines.map(([labels, value]) => `${name}${labels} ${value}\n`).join("");
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples}`;
}
