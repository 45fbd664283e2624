import { toWire } from "../../rpc/error-wire.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { CallWatch } from "../../rpc/router.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import type {
  ObservedAnswer,
  ObservedConnection,
  ObservedProcess,
  ObservedRequest,
  RequestHooks,
  ServerObserver,
} from "../observer.ts";
import { sessionLabel } from "../sessions/session-label.ts";
import type { Peer } from "./peer.ts";
import type { RequestObservers } from "./request-observers.ts";

/** Is called with a process that was started. */
export type ProcessObservation = (
  process: ManagedProcess,
  facts: Pick<ObservedProcess, "argv" | "isConfined">,
) => void;

/** Tells an observer what one client does. */
export class ConnectionObservation implements ObservedConnection {
  readonly number: number;
  readonly from: string;
  readonly principal: string;
  readonly tokenName: string | undefined;
  readonly #observer: ServerObserver;
  readonly #requests: RequestObservers;
  /** For all requests that nobody wants to know of, unless they are forbidden. */
  readonly #unobserved: UnobservedRequest | undefined;
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
    if (observer.denied !== undefined) this.#unobserved = new UnobservedRequest(observer, this);
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
    const hooks = this.#requests.of(method);
    if (hooks === null) return this.#unobserved?.begin(method, traceparent);
    const startedAtMs = this.#requests.clock.now();
    return new RequestObservation(this.#observer, hooks, this, { method, traceparent, startedAtMs });
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
        startedAtMs: performance.now(),
      };
      observer.processStarted?.(observed);
      if (observer.processEnded === undefined) return;
      const tellEnd = (): void => {
        const { exitCode, report } = process.state;
        const outputBytes = process.outputBytes.total;
        observer.processEnded?.(observed, { exitCode, signal: report?.signal, outputBytes });
      };
      process.listen((event) => {
        if (event.kind === "closed") tellEnd();
      });
    };
  }
}

/** Follows one request from its first check to its answer. */
export interface RequestWatch extends CallWatch {
  /** The request failed in the step in which it came. Handlers may forbid too, but that is their answer. */
  refused(error: unknown, params: unknown): void;
  answered(answer: ObservedAnswer): void;
}

type RequestFacts = Pick<ObservedRequest, "method" | "traceparent" | "startedAtMs">;

/** Tells observers what becomes of one request. */
class RequestObservation implements ObservedRequest, RequestWatch {
  readonly connection: ObservedConnection;
  readonly method: string;
  readonly traceparent: string | undefined;
  readonly startedAtMs: number;
  readonly #observer: ServerObserver;
  readonly #hooks: RequestHooks;
  #wasAllowed = false;

  constructor(
    observer: ServerObserver,
    hooks: RequestHooks,
    connection: ObservedConnection,
    { method, traceparent, startedAtMs }: RequestFacts,
  ) {
    this.#observer = observer;
    this.#hooks = hooks;
    this.connection = connection;
    this.method = method;
    this.traceparent = traceparent;
    this.startedAtMs = startedAtMs;
  }

  allowed(params: unknown, attachment: Attachment | undefined): void {
    const error = this.#hooks.veto?.(this, params);
    if (error !== undefined) throw error;
    this.#wasAllowed = true;
    this.#hooks.requested?.(this, params, attachment);
  }

  refused(error: unknown, params: unknown): void {
    if (this.#wasAllowed || this.#observer.denied === undefined) return;
    const wire = toWire(error);
    if ((wire?.data as { code?: unknown } | undefined)?.code !== "PERMISSION_DENIED") return;
    this.#observer.denied(this, params, wire!);
  }

  answered(answer: ObservedAnswer): void {
    this.#hooks.answered?.(this, answer);
  }
}

/**
 * Stands for one request after another: whether a request is refused is known in the step in which it begins.
 */
class UnobservedRequest implements RequestWatch {
  readonly #observer: ServerObserver;
  readonly #connection: ObservedConnection;
  #method = "";
  #traceparent: string | undefined;
  #wasAllowed = false;

  constructor(observer: ServerObserver, connection: ObservedConnection) {
    this.#observer = observer;
    this.#connection = connection;
  }

  begin(method: string, traceparent: string | undefined): this {
    this.#method = method;
    this.#traceparent = traceparent;
    this.#wasAllowed = false;
    return this;
  }

  allowed(): void {
    this.#wasAllowed = true;
  }

  refused(error: unknown, params: unknown): void {
    if (this.#wasAllowed) return;
    const facts = { method: this.#method, traceparent: this.#traceparent, startedAtMs: performance.now() };
    new RequestObservation(this.#observer, {}, this.#connection, facts).refused(error, params);
  }

  answered(): void {}
}
