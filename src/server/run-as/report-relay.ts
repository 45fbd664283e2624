import { Fifo } from "../../base/fifo.ts";
import type { Logger } from "../../base/logger.ts";
import type { Audit } from "../audit/audit.ts";
import type { RequestObservers } from "../wire/request-observers.ts";
import type { ObservedProcess, ObservedRequest, ServerObserver } from "../settings/observer.ts";
import type { RelayedObservation } from "./relayed-client.ts";
import type { Report, ReportedRequest, UserState } from "./messages.ts";

const NOTHING: UserState = { sessions: 0, runningProcesses: 0, bufferedBytes: 0 };

interface ReportReceivers {
  readonly audit: Audit | undefined;
  readonly observer: ServerObserver | undefined;
  readonly requests: RequestObservers;
  readonly logger: Logger;
}

/** Passes on what happens on the server of a user, as if it had happened here. */
export class ReportRelay {
  readonly #user: string | undefined;
  readonly #receivers: ReportReceivers;
  readonly #recorded: ((record: number) => void) | undefined;
  /** Numbers of lines that are not in the audit log yet: there, and at the keeper. */
  readonly #unwritten = new Fifo<readonly [line: number, record: number]>();
  readonly #connection: (number: number) => RelayedObservation | undefined;
  readonly #processes = new Map<number, ObservedProcess>();
  #state = NOTHING;

  /**
   * `connection` finds one by its number; undefined for one that has gone. `recorded` acknowledges the lines of a
   * keeper.
   */
  constructor(
    user: string | undefined,
    receivers: ReportReceivers,
    connection: (number: number) => RelayedObservation | undefined,
    recorded?: (record: number) => void,
  ) {
    this.#user = user;
    this.#receivers = receivers;
    this.#connection = connection;
    this.#recorded = recorded;
    if (recorded !== undefined) receivers.audit?.onWritten((line) => this.#acknowledge(line));
  }

  get state(): UserState {
    return this.#state;
  }

  take(report: Report): void {
    const { observer, requests, logger } = this.#receivers;
    switch (report.kind) {
      case "log":
        logger[report.level](
          report.message,
          this.#user === undefined ? report.fields : { ...report.fields, user: this.#user },
        );
        break;
      case "audit":
        this.#record(report);
        break;
      case "state":
        this.#state = report.state;
        break;
      case "answered": {
        const { error } = report;
        const request = this.#request(report.request);
        if (request === undefined) break;
        const { hooks, timed } = requests.of(request.method);
        hooks?.answered?.(request, error === undefined ? { result: undefined } : { error });
        timed?.(request.startedAtMs, error);
        break;
      }
      case "denied": {
        const request = this.#request(report.request);
        if (request !== undefined) observer?.denied?.(request, undefined, report.error);
        break;
      }
      case "started": {
        const connection = this.#connection(report.connection);
        if (connection === undefined) break;
        const process = { ...report.facts, connection, startedAtMs: performance.now() };
        this.#processes.set(report.process, process);
        observer?.processStarted?.(process);
        break;
      }
      case "ended": {
        const process = this.#processes.get(report.process);
        this.#processes.delete(report.process);
        if (process !== undefined)
          observer?.processEnded?.(process, { ...report.end, endedAtMs: performance.now() });
      }
    }
  }

  #record({ event, facts, who, record }: Extract<Report, { kind: "audit" }>): void {
    const isNumbered = this.#recorded !== undefined && record !== undefined;
    // Only a keeper may say which of its lines are there.
    const { record: _, ...others } = facts as { record?: unknown };
    const line = this.#receivers.audit?.relay(event, isNumbered ? { ...others, record } : others, who);
    if (line !== undefined && isNumbered)
      this.#unwritten.push([line, Number(record.slice(record.indexOf(":") + 1))]);
  }

  #acknowledge(written: number): void {
    let last: number | undefined;
    for (
      let next = this.#unwritten.peek();
      next !== undefined && next[0] <= written;
      next = this.#unwritten.peek()
    ) {
      last = next[1];
      this.#unwritten.shift();
    }
    if (last !== undefined) this.#recorded?.(last);
  }

  /** Nothing more will happen. */
  lost(): void {
    this.#state = NOTHING;
    this.#processes.clear();
  }

  #request({
    connection: number,
    session,
    method,
    tookMs,
    traceparent,
  }: ReportedRequest): ObservedRequest | undefined {
    const connection = this.#connection(number);
    if (connection === undefined) return undefined;
    connection.session = session;
    return { connection, method, startedAtMs: performance.now() - tookMs, traceparent };
  }
}
