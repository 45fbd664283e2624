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
  readonly #user: string;
  readonly #receivers: ReportReceivers;
  readonly #connection: (number: number) => RelayedObservation | undefined;
  readonly #processes = new Map<number, ObservedProcess>();
  #state = NOTHING;

  /** `connection` finds one by its number; undefined for one that has gone. */
  constructor(
    user: string,
    receivers: ReportReceivers,
    connection: (number: number) => RelayedObservation | undefined,
  ) {
    this.#user = user;
    this.#receivers = receivers;
    this.#connection = connection;
  }

  get state(): UserState {
    return this.#state;
  }

  take(report: Report): void {
    const { audit, observer, requests, logger } = this.#receivers;
    switch (report.kind) {
      case "log":
        logger[report.level](report.message, { ...report.fields, user: this.#user });
        break;
      case "audit":
        audit?.relay(report.event, report.facts, report.who);
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
