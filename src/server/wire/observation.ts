import { toWire } from "../../rpc/error-wire.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { WireError } from "../../protocol/envelope.ts";
import type { CallWatch } from "../../rpc/router.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import type {
  ObservedConnection,
  ObservedProcess,
  ObservedRequest,
  RequestHooks,
  ServerObserver,
} from "../settings/observer.ts";
import { sessionLabel } from "./session-label.ts";
import type { Peer } from "./peer.ts";
import type { MethodObservers, RequestObservers } from "./request-observers.ts";

/** Is called with a process that was started. */
export type ProcessObservation = (
  process: ManagedProcess,
  facts: Pick<ObservedProcess, "argv" | "isConfined">,
) => void;

/** Reports to an observer what one client does. */
export class ConnectionObservation implements ObservedConnection {
  readonly number: number;
  readonly from: string;
  readonly principal: string;
  readonly tokenName: string | undefined;
  readonly #observer: ServerObserver;
  readonly #requests: RequestObservers;
  /** Watches that are free for the next request. */
  readonly #free: BriefWatch[] = [];
  #peer: Peer | undefined;
  #sessionId: string | undefined;

  constructor(
    observer: ServerObserver,
    requests: RequestObservers,
    facts: Pick<ObservedConnection, "number" | "from" | "principal" | "tokenName">,
  ) {
    this.#observer = observer;
    this.#requests = requests;
    this.number = facts.number;
    this.from = facts.from;
    this.principal = facts.principal;
    this.tokenName = facts.tokenName;
  }

  get session(): string | undefined {
    return this.#sessionId === undefined ? undefined : sessionLabel(this.#sessionId);
  }

  get receivedBytes(): number | undefined {
    return this.#peer?.receivedBytes;
  }

  get sentBytes(): number | undefined {
    return this.#peer?.sentBytes;
  }

  open(peer: Peer): void {
    this.#peer = peer;
    this.#observer.connected?.(this);
  }

  entered(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  close(reason: string | undefined): void {
    this.#observer.disconnected?.(this, reason);
  }

  begin(method: string, traceparent: string | undefined): RequestWatch | undefined {
    const observers = this.#requests.of(method);
    if (observers.hooks !== undefined) {
      const startedAtMs = this.#requests.clock.now();
      return new RequestObservation(this.#observer, observers, this, { method, traceparent, startedAtMs });
    }
    if (observers.timed === undefined && this.#observer.denied === undefined) return undefined;
    const watch = this.#free.pop() ?? new BriefWatch(this.#observer, this, this.#free);
    watch.begin(method, traceparent, observers, this.#requests.clock.now());
    return watch;
  }

  start(processId: string): ProcessObservation | undefined {
    const observer = this.#observer;
    if (observer.processStarted === undefined && observer.processEnded === undefined) return undefined;
    return (process, facts) => {
      const observed: ObservedProcess = {
        connection: this,
        processId,
        pid: process.pid,
        ...facts,
        startedAtMs: this.#requests.clock.now(),
      };
      observer.processStarted?.(observed);
      if (observer.processEnded === undefined) return;
      const reportEnd = (): void => {
        const { exitCode, report } = process.state;
        const outputBytes = process.outputBytes.total;
        const endedAtMs = this.#requests.clock.now();
        observer.processEnded?.(observed, { exitCode, signal: report?.signal, outputBytes, endedAtMs });
      };
      process.listen((event) => {
        if (event.kind === "closed") reportEnd();
      });
    };
  }
}

/** Follows one request from its first check to its answer. */
export interface RequestWatch extends CallWatch {
  /** The request failed in the step in which it came. Handlers may forbid too, but that is their answer. */
  refused(error: unknown, params: unknown): void;
  /** Called once at most, and last. */
  answered(result: unknown, error: WireError | undefined): void;
}

type RequestFacts = Pick<ObservedRequest, "method" | "traceparent" | "startedAtMs">;

/** Reports to observers what becomes of one request. */
class RequestObservation implements ObservedRequest, RequestWatch {
  readonly connection: ObservedConnection;
  readonly method: string;
  readonly traceparent: string | undefined;
  readonly startedAtMs: number;
  readonly #observer: ServerObserver;
  readonly #hooks: RequestHooks | undefined;
  readonly #timed: RequestHooks["timed"];
  #wasAllowed = false;

  constructor(
    observer: ServerObserver,
    { hooks, timed }: MethodObservers,
    connection: ObservedConnection,
    { method, traceparent, startedAtMs }: RequestFacts,
  ) {
    this.#observer = observer;
    this.#hooks = hooks;
    this.#timed = timed;
    this.connection = connection;
    this.method = method;
    this.traceparent = traceparent;
    this.startedAtMs = startedAtMs;
  }

  allowed(params: unknown, attachment: Attachment | undefined): void {
    const error = this.#hooks?.veto?.(this, params);
    if (error !== undefined) throw error;
    this.#wasAllowed = true;
    this.#hooks?.requested?.(this, params, attachment);
  }

  refused(error: unknown, params: unknown): void {
    if (this.#wasAllowed || this.#observer.denied === undefined) return;
    const wire = toWire(error);
    if ((wire?.data as { code?: unknown } | undefined)?.code !== "PERMISSION_DENIED") return;
    this.#observer.denied(this, params, wire!);
  }

  answered(result: unknown, error: WireError | undefined): void {
    this.#hooks?.answered?.(this, error === undefined ? { result } : { error });
    this.#timed?.(this.startedAtMs, error);
  }
}

const MAX_FREE = 64;
const NOBODY: MethodObservers = { hooks: undefined, timed: undefined };

/**
 * Follows a request for observers that only need its duration, or that it was forbidden. It is reused: creating one for
 * each request would take as long as everything else about it.
 */
class BriefWatch implements RequestWatch {
  readonly #observer: ServerObserver;
  readonly #connection: ObservedConnection;
  readonly #free: BriefWatch[];
  #timed: RequestHooks["timed"];
  #startedAtMs = 0;
  #method = "";
  #traceparent: string | undefined;
  #wasAllowed = false;

  constructor(observer: ServerObserver, connection: ObservedConnection, free: BriefWatch[]) {
    this.#observer = observer;
    this.#connection = connection;
    this.#free = free;
  }

  begin(
    method: string,
    traceparent: string | undefined,
    { timed }: MethodObservers,
    startedAtMs: number,
  ): void {
    this.#method = method;
    this.#traceparent = traceparent;
    this.#timed = timed;
    this.#startedAtMs = startedAtMs;
    this.#wasAllowed = false;
  }

  allowed(): void {
    this.#wasAllowed = true;
  }

  refused(error: unknown, params: unknown): void {
    if (this.#wasAllowed) return;
    const facts = { method: this.#method, traceparent: this.#traceparent, startedAtMs: this.#startedAtMs };
    new RequestObservation(this.#observer, NOBODY, this.#connection, facts).refused(error, params);
  }

  answered(_: unknown, error: WireError | undefined): void {
    if (this.#free.length < MAX_FREE) this.#free.push(this);
    this.#timed?.(this.#startedAtMs, error);
  }
}
