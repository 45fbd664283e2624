import type { NumberedAccount } from "../../native/account.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { WireError } from "../../protocol/envelope.ts";
import type { RightsOptions } from "../settings/rights-options.ts";
import type { ObservedConnection, ObservedEnd, ObservedProcess } from "../settings/observer.ts";
import type { AuditOptions, ServerOptions } from "../settings/server-options.ts";
import type { ServerState } from "../settings/server-state.ts";

/** Options that the server of a user shares with the server that started it. */
export type SharedOptions = Pick<
  ServerOptions,
  | "limits"
  | "sandbox"
  | "requireSandbox"
  | "secrets"
  | "keepProcesses"
  | "concurrentRequests"
  | "version"
  | "program"
>;

/** The first message to a user's server. */
export interface UserSettings {
  /** The user that it becomes. Undefined for a keeper, which stays the user of the server. */
  readonly account: NumberedAccount | undefined;
  /** Set for a keeper, which outlives the server that has started it. */
  readonly keeper: KeeperSettings | undefined;
  readonly options: SharedOptions;
  /** Files of the server that started it. */
  readonly files: ServerFiles;
  /** Base of relative paths in a policy. */
  readonly cwd: string;
  /** Set if there is an audit log. */
  readonly audit: Pick<AuditOptions, "onFailure"> | undefined;
  /** Whether there are other observers. */
  readonly isObserved: boolean;
  /** Whether clients can get links to the web console. */
  readonly hasConsole: boolean;
  /** Idle time, without a connection, a session and a kept process, after which it reports that. */
  readonly idleMs: number;
}

export type KeeperCommand = "status" | "end";

/** What a keeper says of itself. */
export interface KeeperStatus {
  readonly pid: number;
  readonly version: string;
  readonly startedAt: string;
  readonly sessions: number;
  readonly runningProcesses: number;
  /** Whether a server uses it. */
  readonly isAttached: boolean;
}

export interface KeeperSettings {
  /** Its file that holds what runs. */
  readonly journal: string;
  /** Its directory for the output of processes. */
  readonly spool: string;
  /** What its processes may inherit. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Number of its last line that is in the audit log, by the name of each keeper that has written there. */
  readonly recorded: Readonly<Record<string, number>>;
}

/** Version of these messages. A keeper may be older or newer than the server that reaches it. */
export const PROTOCOL = 1;

/** The first frame of a connection to a user's server: its only one to the main server, or one of a client. */
export type Opening =
  | { readonly role: "control"; readonly protocol: number }
  /** For a keeper: one question, or its end. */
  | { readonly role: "command"; readonly protocol: number; readonly command: KeeperCommand }
  | { readonly role: "client"; readonly connection: RelayedConnection };

/** A client that the server of a user is to serve. */
export interface RelayedConnection
  extends Pick<ObservedConnection, "number" | "principal" | "tokenName" | "from"> {
  readonly rights: RightsOptions;
  readonly resumable: boolean;
  readonly source: string;
  readonly canPing: boolean;
  /** Ports on which the server listens. */
  readonly ports: readonly number[];
}

/** How a client's connection ended. */
export interface RelayedEnd {
  readonly reason?: string | undefined;
  /** The client's close code, if it sent one. */
  readonly code?: number | undefined;
  readonly receivedBytes?: number | undefined;
  readonly sentBytes?: number | undefined;
}

/** Requests of clients that only the main server can answer. */
export type FrontMethod = "server/audit" | "console/link";

/** From the main server to a user's server. */
export type ToUserServer =
  | { readonly kind: "settings"; readonly settings: UserSettings }
  /** Whether lines of the audit log currently cannot be written. */
  | { readonly kind: "auditFailing"; readonly isFailing: boolean }
  /** Whether the server should get no new work. */
  | { readonly kind: "cordon"; readonly isCordoned: boolean }
  /** Is answered at once. */
  | { readonly kind: "ping" }
  /** The line with this number, and all before it, are in the audit log. */
  | { readonly kind: "recorded"; readonly record: number }
  | { readonly kind: "answer"; readonly id: number; readonly result?: unknown; readonly error?: WireError }
  | { readonly kind: "drain" }
  | { readonly kind: "close" };

export type LogLevel = "error" | "warn" | "info" | "debug";

/** Events on a user's server. Connections and processes are identified by numbers. */
export type Report =
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>> | undefined;
    }
  | {
      readonly kind: "audit";
      readonly event: string;
      readonly facts: object;
      readonly who: string;
      /** Name of the keeper and number of the line, to be acknowledged. */
      readonly record?: string | undefined;
    }
  | { readonly kind: "state"; readonly state: UserState }
  | {
      readonly kind: "answered";
      readonly request: ReportedRequest;
      readonly error: WireError | undefined;
    }
  | { readonly kind: "denied"; readonly request: ReportedRequest; readonly error: WireError }
  | {
      readonly kind: "started";
      readonly connection: number;
      readonly process: number;
      readonly facts: Pick<ObservedProcess, "processId" | "pid" | "argv" | "isConfined">;
    }
  | { readonly kind: "ended"; readonly process: number; readonly end: Omit<ObservedEnd, "endedAtMs"> };

export interface ReportedRequest {
  readonly connection: number;
  readonly session: string | undefined;
  readonly method: string;
  readonly tookMs: number;
  readonly traceparent: string | undefined;
}

export type UserState = Pick<ServerState, "sessions" | "runningProcesses" | "bufferedBytes">;

/** From a user's server; checked by `readUserMessage`. */
export type FromUserServer =
  /** `connections` is the highest number of a connection that it has served. */
  | { readonly kind: "ready"; readonly connections: number }
  /** Whether something in a sandbox may be using the network of this machine. */
  | { readonly kind: "pong"; readonly usesNetwork: boolean }
  /** It cannot serve, and ends. */
  | { readonly kind: "fault"; readonly message: string }
  | { readonly kind: "reports"; readonly reports: readonly Report[] }
  | { readonly kind: "idle" }
  /** A keeper asks for one of its clients. */
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly connection: number;
      readonly method: FrontMethod;
      readonly params: unknown;
    }
  /** A client has requested it. */
  | { readonly kind: "cordon"; readonly isCordoned: boolean }
  | { readonly kind: "drained" }
  | { readonly kind: "status"; readonly status: KeeperStatus };
