import { toWire } from "../../rpc/error-wire.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { CallWatch } from "../../rpc/router.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import type {
  ObservedAnswer,
  ObservedConnection,
  ObservedProcess,
  ObservedRequest,
  ServerObserver,
} from "../observer.ts";
import { sessionLabel } from "../sessions/session-label.ts";
import type { Peer } from "./peer.ts";

/** Is called with a process that was started. */
export type ProcessObservation = (
  process: ManagedProcess,
  facts: Pick<ObservedProcess, "argv" | "isConfined">,
) => void;

const REQUEST_HOOKS = ["veto", "requested", "denied", "answered"] as const;

/** Tells an observer what one client does. */
export class ConnectionObservation implements ObservedConnection {
  readonly number: number;
  readonly from: string;
  readonly principal: string;
  readonly tokenName: string | undefined;
  readonly #observer: ServerObserver;
  /** Whether requests are of interest at all. */
  readonly #seesRequests: boolean;
  #peer: Peer | undefined;
  #sessionId: string | undefined;

  constructor(
    observer: ServerObserver,
    facts: Pick<ObservedConnection, "number" | "from" | "principal" | "tokenName">,
  ) {
    this.#observer = observer;
    this.number = facts.number;
    this.from = facts.from;
    this.principal = facts.principal;
    this.tokenName = facts.tokenName;
    this.#seesRequests = REQUEST_HOOKS.some((hook) => observer[hook] !== undefined);
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

  begin(method: string, traceparent: string | undefined): RequestObservation | undefined {
    return this.#seesRequests ? new RequestObservation(this.#observer, this, method, traceparent) : undefined;
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

/** Tells an observer what becomes of one request. */
export class RequestObservation implements ObservedRequest, CallWatch {
  readonly connection: ObservedConnection;
  readonly method: string;
  readonly traceparent: string | undefined;
  readonly startedAtMs = performance.now();
  readonly #observer: ServerObserver;
  #wasAllowed = false;

  constructor(
    observer: ServerObserver,
    connection: ObservedConnection,
    method: string,
    traceparent: string | undefined,
  ) {
    this.#observer = observer;
    this.connection = connection;
    this.method = method;
    this.traceparent = traceparent;
  }

  allowed(params: unknown, attachment: Attachment | undefined): void {
    const error = this.#observer.veto?.(this, params);
    if (error !== undefined) throw error;
    this.#wasAllowed = true;
    this.#observer.requested?.(this, params, attachment);
  }

  /** The request failed in the step in which it came. Handlers may forbid too, but that is their answer. */
  refused(error: unknown, params: unknown): void {
    if (this.#wasAllowed || this.#observer.denied === undefined) return;
    const wire = toWire(error);
    if ((wire?.data as { code?: unknown } | undefined)?.code !== "PERMISSION_DENIED") return;
    this.#observer.denied(this, params, wire!);
  }

  answered(answer: ObservedAnswer): void {
    this.#observer.answered?.(this, answer);
  }
}
