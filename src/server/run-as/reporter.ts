import type { AuditRecords } from "../audit/audit.ts";
import type { AuditTrouble } from "../audit/audit-log.ts";
import { NO_LINES } from "../audit/chain.ts";
import { type Facts, type Members, plainFacts } from "../audit/members.ts";
import type { ObservedProcess, ObservedRequest, ServerObserver } from "../settings/observer.ts";
import type { KeptLines } from "./kept-lines.ts";
import type { Report, ReportedRequest, LogLevel } from "./messages.ts";
import type { Logger } from "../../base/logger.ts";

/** How long a report may wait for others, so that one message takes many. */
const SEND_DELAY_MS = 10;
const MAX_BATCH = 256;
/** Beyond this, the reader has stopped, and reports are dropped. */
const MAX_WAITING = 16_384;
const FULL_SHARE = 0.75;

/** Sends messages in order; `sent` is called when one is on its way. */
export type SendReports = (reports: readonly Report[], sent: () => void) => void;

/** Reports what happens here to the server that started this one: for its log, its audit log and its observers. */
export class Reporter {
  readonly #send: SendReports;
  #batch: Report[] = [];
  #sending = 0;
  #timer: NodeJS.Timeout | undefined;
  #processes = 0;
  readonly #numbers = new WeakMap<ObservedProcess, number>();

  constructor(send: SendReports) {
    this.#send = send;
  }

  /** Number of reports waiting to be sent. */
  get waiting(): number {
    return this.#batch.length + this.#sending;
  }

  /** False if it was left out. */
  report(report: Report): boolean {
    if (this.waiting >= MAX_WAITING) return false;
    this.add(report);
    return true;
  }

  /** Adds one that its sender has bounded. */
  add(report: Report): void {
    this.#batch.push(report);
    if (this.#batch.length >= MAX_BATCH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), SEND_DELAY_MS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#sending += batch.length;
    this.#send(batch, () => {
      this.#sending -= batch.length;
    });
  }

  readonly logger: Logger = {
    error: (message, fields) => this.#log("error", message, fields),
    warn: (message, fields) => this.#log("warn", message, fields),
    info: (message, fields) => this.#log("info", message, fields),
    debug: (message, fields) => this.#log("debug", message, fields),
  };

  /** Without parameters and results, which can be large. */
  readonly observer: ServerObserver = {
    answered: (request, { error }) =>
      void this.report({ kind: "answered", request: reportedRequest(request), error }),
    denied: (request, _, error) =>
      void this.report({ kind: "denied", request: reportedRequest(request), error }),
    processStarted: (process) => {
      this.#processes += 1;
      this.#numbers.set(process, this.#processes);
      const { connection, processId, pid, argv, isConfined } = process;
      this.report({
        kind: "started",
        connection: connection.number,
        process: this.#processes,
        facts: { processId, pid, argv, isConfined },
      });
    },
    processEnded: (process, { exitCode, signal, outputBytes }) =>
      void this.report({
        kind: "ended",
        process: this.#numbers.get(process) ?? 0,
        end: { exitCode, signal, outputBytes },
      }),
  };

  #log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> | undefined): void {
    this.report({ kind: "log", level, message, fields });
  }
}

/** Lines for the audit log of the server that started this one. */
export class RelayedRecords implements AuditRecords {
  readonly head = NO_LINES;
  readonly printedHead = NO_LINES;
  readonly file = undefined;
  readonly #reporter: Reporter;
  readonly #kept: KeptLines | undefined;
  #lost = 0;
  /** Whether the log cannot be written. */
  isFailing = false;

  /** `kept` keeps lines until they are in the log. */
  constructor(reporter: Reporter, kept?: KeptLines) {
    this.#reporter = reporter;
    this.#kept = kept;
  }

  get lost(): number {
    return this.#lost;
  }

  get trouble(): AuditTrouble | undefined {
    return this.isFailing ? { since: 0, message: "it cannot be written" } : undefined;
  }

  get isFull(): boolean {
    return this.#kept?.isFull ?? this.#reporter.waiting > MAX_WAITING * FULL_SHARE;
  }

  add(event: string, facts: Facts, who: Members = ""): void {
    if (this.#lost > 0 && this.#report("gap", { lost: this.#lost }, "")) this.#lost = 0;
    if (!this.#report(event, plainFacts(facts), who)) this.#lost += 1;
  }

  async close(): Promise<void> {
    this.#reporter.flush();
  }

  #report(event: string, facts: object, who: string): boolean {
    if (this.#kept === undefined) return this.#reporter.report({ kind: "audit", event, facts, who });
    const report = this.#kept.add({ kind: "audit", event, facts, who });
    if (report !== undefined) this.#reporter.add(report);
    return report !== undefined;
  }
}

function reportedRequest({ connection, method, startedAtMs, traceparent }: ObservedRequest): ReportedRequest {
  const { number, session } = connection;
  return { connection: number, session, method, tookMs: performance.now() - startedAtMs, traceparent };
}
