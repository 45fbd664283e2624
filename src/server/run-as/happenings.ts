import type { Logger } from "../../base/logger.ts";
import type { Audit } from "../audit/audit.ts";
import type { RequestObservers } from "../wire/request-observers.ts";
import type {
  ObservedConnection,
  ObservedProcess,
  ObservedRequest,
  ServerObserver,
} from "../settings/observer.ts";
import type { Happening, HappenedRequest, UserState } from "./messages.ts";

const NOTHING: UserState = { sessions: 0, runningProcesses: 0, bufferedBytes: 0 };

export interface HappeningsOptions {
  readonly user: string;
  readonly audit: Audit | undefined;
  readonly observer: ServerObserver | undefined;
  readonly requests: RequestObservers;
  readonly logger: Logger;
  /** Undefined for one that has gone. */
  connection(number: number): (ObservedConnection & { session: string | undefined }) | undefined;
}

/** Passes on what happens on the server of a user, as if it had happened here. */
export class Happenings {
  readonly #options: HappeningsOptions;
  readonly #processes = new Map<number, ObservedProcess>();
  #state = NOTHING;

  constructor(options: HappeningsOptions) {
    this.#options = options;
  }

  get state(): UserState {
    return this.#state;
  }

  take(happening: Happening): void {
    const { user, audit, observer, requests, logger } = this.#options;
    switch (happening.kind) {
      case "log":
        logger[happening.level](happening.message, { ...happening.fields, user });
        break;
      case "audit":
        audit?.relay(happening.event, happening.facts, happening.who);
        break;
      case "state":
        this.#state = happening.state;
        break;
      case "answered": {
        const { error } = happening;
        const request = this.#request(happening.request);
        if (request === undefined) break;
        const { hooks, timed } = requests.of(request.method);
        hooks?.answered?.(request, error === undefined ? { result: undefined } : { error });
        timed?.(request.startedAtMs, error);
        break;
      }
      case "denied": {
        const request = this.#request(happening.request);
        if (request !== undefined) observer?.denied?.(request, undefined, happening.error);
        break;
      }
      case "started": {
        const connection = this.#options.connection(happening.connection);
        if (connection === undefined) break;
        const process = { ...happening.facts, connection, startedAtMs: performance.now() };
        this.#processes.set(happening.process, process);
        observer?.processStarted?.(process);
        break;
      }
      case "ended": {
        const process = this.#processes.get(happening.process);
        this.#processes.delete(happening.process);
        if (process !== undefined)
          observer?.processEnded?.(process, { ...happening.end, endedAtMs: performance.now() });
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
  }: HappenedRequest): ObservedRequest | undefined {
    const connection = this.#options.connection(number);
    if (connection === undefined) return undefined;
    connection.session = session;
    return { connection, method, startedAtMs: performance.now() - tookMs, traceparent };
  }
}
