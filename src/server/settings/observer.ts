import type { RpcError } from "../../base/errors.ts";
import type { RefusedConnection } from "../../base/refused-connection.ts";
import type { WireError } from "../../protocol/envelope.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";

/**
 * Observes what happens on a server: for an audit log, for metrics. Every hook is optional, returns at once and throws
 * nothing. Nothing is prepared for hooks that no observer has.
 */
export interface ServerObserver {
  connected?(connection: ObservedConnection): void;
  /** The last call about a connection, except for answers of handlers that end later. */
  disconnected?(connection: ObservedConnection, reason: string | undefined): void;
  /** A connection that was turned away. */
  refused?(refusal: RefusedConnection): void;
  /**
   * Why a request must not be carried out now. Called after all other checks, before the handler. The parameters are
   * valid. An error is the answer to the request, and `requested` is not called.
   */
  veto?(request: ObservedRequest, params: unknown): RpcError | undefined;
  /** A request that passed all checks, in the step before its handler runs. Nothing of `params` may be changed. */
  requested?(request: ObservedRequest, params: unknown, attachment: Attachment | undefined): void;
  /** A request that its client is not allowed to make. Called before `answered`. */
  denied?(request: ObservedRequest, params: unknown, error: WireError): void;
  /** Every answer, also to invalid requests. It may not reach a client that is gone. */
  answered?(request: ObservedRequest, answer: ObservedAnswer): void;
  /**
   * Called once for each method, and with an empty name for all unknown ones: returns the hooks for its requests,
   * instead of those of the observer itself; undefined to ignore them. `denied` is called in any case.
   */
  hooksFor?(method: string): RequestHooks | undefined;
  processStarted?(process: ObservedProcess): void;
  /** The process has exited and its output is complete. */
  processEnded?(process: ObservedProcess, end: ObservedEnd): void;
}

/** Hooks for a request. */
export interface RequestHooks extends Pick<ServerObserver, "veto" | "requested" | "answered"> {
  /** Called for every answer, for observers that need no more than this: it costs the least. */
  timed?(startedAtMs: number, error: WireError | undefined): void;
}

export type { RefusalCause, RefusedConnection } from "../../base/refused-connection.ts";

/** One object for each connection. */
export interface ObservedConnection {
  /** 1 for the first connection of a server. */
  readonly number: number;
  /** Address of the client, such as `127.0.0.1:5023`; `unix`, `stdio`, or `local` for a client in this program. */
  readonly from: string;
  /** The client's principal. */
  readonly principal: string;
  /** Name of the token that it came with, if the token has one. */
  readonly tokenName: string | undefined;
  /** Name of the session in logs, once there is one. It does not open the session. */
  readonly session: string | undefined;
  /** Bytes so far; undefined if the transport does not count them. */
  readonly receivedBytes: number | undefined;
  readonly sentBytes: number | undefined;
}

/** One object for each request. */
export interface ObservedRequest {
  readonly connection: ObservedConnection;
  /** As sent by the client: it need not exist. */
  readonly method: string;
  /** Value of `performance.now()` in the turn of the event loop in which it was taken up, the same for all of that turn. */
  readonly startedAtMs: number;
  /** Its position in a trace, if the client sent one. */
  readonly traceparent: string | undefined;
}

/** `result` is what the handler returned: a value, a JsonText or a JsonParts. */
export type ObservedAnswer =
  | { readonly result: unknown; readonly error?: undefined }
  | { readonly error: WireError };

/** One object for each process. */
export interface ObservedProcess {
  readonly connection: ObservedConnection;
  /** The id that the client chose, or the name of a kept process. */
  readonly processId: string;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly isConfined: boolean;
  /** Value of `performance.now()`. */
  readonly startedAtMs: number;
}

export interface ObservedEnd {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly outputBytes: number;
  /** Value of `performance.now()`. */
  readonly endedAtMs: number;
}

type Hook = Exclude<keyof ServerObserver, "veto" | "hooksFor">;

const HOOKS: readonly Hook[] = [
  "connected",
  "disconnected",
  "refused",
  "requested",
  "denied",
  "answered",
  "processStarted",
  "processEnded",
];

type Call = (first: unknown, second: unknown, third: unknown) => void;

/** Hooks have at most three parameters, and this is faster than a list and spreading. */
function both(one: Call, other: Call): Call {
  return (first, second, third) => {
    one(first, second, third);
    other(first, second, third);
  };
}

/** One observer for all; undefined without any. */
export function combineObservers(observers: readonly ServerObserver[]): ServerObserver | undefined {
  if (observers.length < 2) return observers[0];
  const combined: Record<string, unknown> = {};
  for (const hook of HOOKS) {
    const calls = observers.flatMap((observer) => {
      const call = observer[hook] as Call | undefined;
      return call === undefined ? [] : [call.bind(observer)];
    });
    if (calls.length > 0) combined[hook] = calls.reduce(both);
  }
  const vetoes = observers.filter((observer) => observer.veto !== undefined);
  if (vetoes.length > 0)
    combined["veto"] = (request: ObservedRequest, params: unknown): RpcError | undefined => {
      for (const observer of vetoes) {
        const error = observer.veto?.(request, params);
        if (error !== undefined) return error;
      }
      return undefined;
    };
  return combined;
}
