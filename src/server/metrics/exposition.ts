import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from "prom-client";
import type { ServerState } from "../settings/server-state.ts";
import type { Audit } from "../audit/audit.ts";
import { DURATION_BOUNDS, type Durations } from "./durations.ts";
import type { ServerMetrics } from "./server-metrics.ts";

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

interface Labelled {
  readonly labels: readonly string[];
  readonly samples: () => readonly Sample[];
}

/** Values of a metric: one number, or one for each combination of labels. */
type Values = (() => number) | Labelled;

/** Figures of an audit log for the metrics. */
export type AuditFigures = Pick<Audit, "head" | "printedHead" | "lost" | "isFailing">;

const PREFIX = "exec_server_";

/** The response to a scrape of `/metrics`, in the OpenMetrics format. */
export class Exposition {
  readonly contentType = Registry.OPENMETRICS_CONTENT_TYPE;
  readonly #registry = new Registry<typeof this.contentType>();
  readonly #metrics: ServerMetrics;

  /** `audit` is the log of a server that has one. */
  constructor(metrics: ServerMetrics, stateOf: () => ServerState, audit?: AuditFigures) {
    this.#metrics = metrics;
    this.#registry.setContentType(this.contentType);
    // Memory, processor time, descriptors, garbage collection, and the delay of the event loop.
    collectDefaultMetrics({ register: this.#registry });
    this.#addState(stateOf);
    this.#addConnections(metrics);
    this.#addRequests(metrics);
    this.#addProcesses(metrics);
    if (audit !== undefined) this.#addAudit(audit);
  }

  text(): Promise<string> {
    this.#metrics.settle();
    return this.#registry.metrics();
  }

  #addState(stateOf: () => ServerState): void {
    const gauge = (name: string, help: string, valueOf: (state: ServerState) => number): void =>
      this.#gauge(name, help, () => valueOf(stateOf()));
    gauge("connections", "Open connections.", ({ connections }) => connections);
    gauge("sessions", "Sessions, including those that wait for their client.", ({ sessions }) => sessions);
    gauge("processes_running", "Processes that have not ended.", (state) => state.runningProcesses);
    gauge("buffered_bytes", "Memory used for answers and unread output.", (state) => state.bufferedBytes);
    gauge("draining", "1 while the server is shutting down and admits no connections.", ({ isDraining }) =>
      Number(isDraining),
    );
    gauge("cordoned", "1 while the server should get no new work.", ({ isCordoned }) => Number(isCordoned));
    this.#gauge(
      "limit",
      "Configured limits, by their keys in the configuration.",
      by("limit", () => Object.entries(stateOf().limits)),
    );
  }

  #addConnections(metrics: ServerMetrics): void {
    this.#counter("connections_accepted", "Connections that were accepted.", () => metrics.connections);
    this.#counter(
      "connections_refused",
      "Connections that were turned away, by cause.",
      by("cause", () => metrics.refusals),
    );
    this.#counter("received_bytes", "Bytes of messages from clients.", () => metrics.receivedBytes);
    this.#counter("sent_bytes", "Bytes of messages to clients.", () => metrics.sentBytes);
  }

  #addRequests(metrics: ServerMetrics): void {
    const used = () =>
      [...metrics.methods].filter(([, { durations, denied }]) => durations.total + denied > 0);
    this.#histogram(
      "request_duration_seconds",
      "Time from a request to its answer, by method. Waiting for a process or a body is part of it.",
      () => used().map(([method, { durations }]) => [{ method }, durations]),
    );
    this.#counter("request_errors", "Requests that were answered with an error, by method and code.", {
      labels: ["method", "code"],
      samples: () =>
        used().flatMap(([method, { errors }]) =>
          Array.from(errors, ([code, value]): Sample => [{ method, code: `${code}` }, value]),
        ),
    });
    this.#counter(
      "requests_denied",
      "Requests that their client was not allowed to make, by method.",
      by("method", () => used().map(([method, { denied }]) => [method, denied])),
    );
    this.#counter(
      "limits_reached",
      "Requests that were refused because of a limit.",
      by("limit", () => metrics.limitsReached),
    );
  }

  #addProcesses(metrics: ServerMetrics): void {
    this.#counter(
      "processes_started",
      "Processes that were started, in a sandbox or not.",
      by("sandbox", () => [
        ["yes", metrics.processesConfined],
        ["no", metrics.processesUnconfined],
      ]),
    );
    this.#counter(
      "processes_ended",
      "Processes that have ended: with exit code zero, nonzero, or by a signal.",
      by("end", () => metrics.processEnds),
    );
    this.#histogram(
      "process_duration_seconds",
      "Time from the start of a process to the end of its output.",
      () => [[{}, metrics.processSeconds]],
    );
    this.#counter("process_output_bytes", "Output of processes that have ended.", () => metrics.outputBytes);
  }

  #addAudit(audit: AuditFigures): void {
    this.#counter("audit_lines", "Number of the last line of the audit log.", () => audit.head.line);
    this.#counter(
      "audit_lines_lost",
      "Lines of the audit log that could not be written, and are lost.",
      () => audit.lost,
    );
    this.#gauge("audit_failing", "1 while the audit log cannot be written.", () => Number(audit.isFailing));
    // The present head would be another series for each scrape.
    this.#gauge(
      "audit_head",
      "The last head of the audit log that was logged: its hash, and as value the number of its line.",
      by("hash", () => {
        const { printedHead: head } = audit;
        return head === undefined ? [] : [[head.hash, head.line]];
      }),
    );
  }

  #gauge(name: string, help: string, values: Values): void {
    const { labels, samples } = labelled(values);
    const gauge: Gauge = new Gauge({
      ...this.#configuration(name, help, labels),
      collect: () => {
        gauge.reset();
        for (const sample of samples()) gauge.set(...sample);
      },
    });
  }

  #counter(name: string, help: string, values: Values): void {
    const { labels, samples } = labelled(values);
    const counter: Counter = new Counter({
      ...this.#configuration(name, help, labels),
      collect: () => {
        counter.reset();
        for (const sample of samples()) counter.inc(...sample);
      },
    });
  }

  #histogram(
    shortName: string,
    help: string,
    samples: () => readonly (readonly [Labels, Durations])[],
  ): void {
    const name = PREFIX + shortName;
    const values = () => samples().flatMap(([labels, durations]) => lines(name, labels, durations));
    // The library's own counting takes longer than many requests, so these classes were counted elsewhere. The registry
    // needs nothing else of a metric.
    const metric = { name, get: async () => ({ name, help, type: "histogram", values: values() }) };
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  #configuration(name: string, help: string, labelNames: readonly string[]) {
    return { name: PREFIX + name, help, labelNames, registers: [this.#registry] };
  }
}

/** Samples with one label, which the keys are the values of. */
function by(label: string, values: () => Iterable<readonly [string, number]>): Labelled {
  return {
    labels: [label],
    samples: () => Array.from(values(), ([key, value]) => [{ [label]: key }, value]),
  };
}

function labelled(values: Values): Labelled {
  return typeof values === "function" ? { labels: [], samples: () => [[{}, values()]] } : values;
}

function lines(name: string, labels: Labels, { counts, sumSeconds, total }: Durations) {
  let below = 0;
  const buckets = DURATION_BOUNDS.map((bound, index) => {
    below += counts[index]!;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: total },
    { metricName: `${name}_sum`, labels, value: sumSeconds },
    { metricName: `${name}_count`, labels, value: total },
  ];
}
