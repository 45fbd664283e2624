import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from "prom-client";
import type { ServerState } from "../settings/server-state.ts";
import type { Audit } from "../audit/audit.ts";
import { DURATION_BOUNDS, type Durations } from "./durations.ts";
import type { ServerMetrics } from "./server-metrics.ts";

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** What the metrics say about an audit log. */
export type AuditFigures = Pick<Audit, "head" | "printedHead" | "lost" | "isFailing">;

const PREFIX = "exec_server_";

/** What a scrape of `/metrics` gets, in the OpenMetrics format. */
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
    const gauges: readonly [name: string, help: string, (state: ServerState) => number][] = [
      ["connections", "Open connections.", ({ connections }) => connections],
      ["sessions", "Sessions, including those that wait for their client.", ({ sessions }) => sessions],
      ["processes_running", "Processes that have not ended.", ({ runningProcesses }) => runningProcesses],
      ["buffered_bytes", "Memory used for answers and unread output.", ({ bufferedBytes }) => bufferedBytes],
      [
        "draining",
        "1 while the server is shutting down and admits no connections.",
        ({ isDraining }) => (isDraining ? 1 : 0),
      ],
      ["cordoned", "1 while the server is to get no new work.", ({ isCordoned }) => (isCordoned ? 1 : 0)],
    ];
    for (const [name, help, valueOf] of gauges)
      this.#gauge({ name, help, samples: () => [[{}, valueOf(stateOf())]] });
    this.#gauge({
      name: "limit",
      help: "Configured limits, by their keys in the configuration.",
      labels: ["limit"],
      samples: () => Object.entries(stateOf().limits).map(([limit, value]) => [{ limit }, value]),
    });
  }

  #addConnections(metrics: ServerMetrics): void {
    this.#counter({
      name: "connections_accepted",
      help: "Connections that were accepted.",
      samples: () => [[{}, metrics.connections]],
    });
    this.#counter({
      name: "connections_refused",
      help: "Connections that were turned away, by cause.",
      labels: ["cause"],
      samples: () => Array.from(metrics.refusals, ([cause, value]) => [{ cause }, value]),
    });
    this.#counter({
      name: "received_bytes",
      help: "Bytes of messages from clients.",
      samples: () => [[{}, metrics.receivedBytes]],
    });
    this.#counter({
      name: "sent_bytes",
      help: "Bytes of messages to clients.",
      samples: () => [[{}, metrics.sentBytes]],
    });
  }

  #addRequests(metrics: ServerMetrics): void {
    const used = () =>
      [...metrics.methods].filter(([, { durations, denied }]) => durations.total + denied > 0);
    this.#histogram({
      name: "request_duration_seconds",
      help: "Time from a request to its answer, by method. Waiting for a process or a body is part of it.",
      labels: ["method"],
      samples: () => used().map(([method, { durations }]) => [{ method }, durations]),
    });
    this.#counter({
      name: "request_errors",
      help: "Requests that were answered with an error, by method and code.",
      labels: ["method", "code"],
      samples: () =>
        used().flatMap(([method, { errors }]) =>
          Array.from(errors, ([code, value]): Sample => [{ method, code: `${code}` }, value]),
        ),
    });
    this.#counter({
      name: "requests_denied",
      help: "Requests that their client was not allowed to make, by method.",
      labels: ["method"],
      samples: () => used().map(([method, { denied }]) => [{ method }, denied]),
    });
    this.#counter({
      name: "limits_reached",
      help: "Requests that were refused because of a limit.",
      labels: ["limit"],
      samples: () => Array.from(metrics.limitsReached, ([limit, value]) => [{ limit }, value]),
    });
  }

  #addProcesses(metrics: ServerMetrics): void {
    this.#counter({
      name: "processes_started",
      help: "Processes that were started, in a sandbox or not.",
      labels: ["sandbox"],
      samples: () => [
        [{ sandbox: "yes" }, metrics.processesConfined],
        [{ sandbox: "no" }, metrics.processesUnconfined],
      ],
    });
    this.#counter({
      name: "processes_ended",
      help: "Processes that have ended: with exit code zero, nonzero, or by a signal.",
      labels: ["end"],
      samples: () => Array.from(metrics.processEnds, ([end, value]) => [{ end }, value]),
    });
    this.#histogram({
      name: "process_duration_seconds",
      help: "Time from the start of a process to the end of its output.",
      samples: () => [[{}, metrics.processSeconds]],
    });
    this.#counter({
      name: "process_output_bytes",
      help: "Output of processes that have ended.",
      samples: () => [[{}, metrics.outputBytes]],
    });
  }

  #addAudit(audit: AuditFigures): void {
    this.#counter({
      name: "audit_lines",
      help: "Number of the last line of the audit log.",
      samples: () => [[{}, audit.head.line]],
    });
    this.#counter({
      name: "audit_lines_lost",
      help: "Lines of the audit log that could not be written, and are lost.",
      samples: () => [[{}, audit.lost]],
    });
    this.#gauge({
      name: "audit_failing",
      help: "1 while the audit log cannot be written.",
      samples: () => [[{}, audit.isFailing ? 1 : 0]],
    });
    // The present head would be another series for each scrape.
    this.#gauge({
      name: "audit_head",
      help: "The last head of the audit log that was logged: its hash, and as value the number of its line.",
      labels: ["hash"],
      samples: () => {
        const { printedHead: head } = audit;
        return head === undefined ? [] : [[{ hash: head.hash }, head.line]];
      },
    });
  }

  #gauge({ samples, ...family }: Family<Sample>): void {
    const gauge: Gauge = new Gauge({
      ...this.#configuration(family),
      collect: () => {
        gauge.reset();
        for (const [labels, value] of samples()) gauge.set(labels, value);
      },
    });
  }

  #counter({ samples, ...family }: Family<Sample>): void {
    const counter: Counter = new Counter({
      ...this.#configuration(family),
      collect: () => {
        counter.reset();
        for (const [labels, value] of samples()) counter.inc(labels, value);
      },
    });
  }

  #histogram({ samples, ...family }: Family<readonly [Labels, Durations]>): void {
    const name = PREFIX + family.name;
    const values = () => samples().flatMap(([labels, durations]) => lines(name, labels, durations));
    // The library's own counting takes longer than many requests, so these classes were counted elsewhere. The registry
    // needs nothing else of a metric.
    const metric = {
      name,
      get: async () => ({ name, help: family.help, type: "histogram", values: values() }),
    };
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  #configuration({ name, help, labels = [] }: Omit<Family<never>, "samples">) {
    return { name: PREFIX + name, help, labelNames: labels, registers: [this.#registry] };
  }
}

interface Family<T> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly samples: () => readonly T[];
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
