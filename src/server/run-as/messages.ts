import type { NumberedAccount } from "../../native/account.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { WireError } from "../../protocol/envelope.ts";
import type { RightsOptions } from "../settings/rights-options.ts";
import type { AuditOptions } from "../settings/server-options.ts";
import type { ObservedEnd, ObservedProcess } from "../settings/observer.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { ServerState } from "../settings/server-state.ts";

/** Options that the server of a user shares with the server that started it. */
export type SharedOptions = Pick<
  ServerOptions,
  "limits" | "sandbox" | "requireSandbox" | "keepProcesses" | "concurrentRequests" | "version"
>;

/** The first message to a user's server. */
export interface UserSettings {
  readonly account: NumberedAccount;
  readonly options: SharedOptions;
  /** Of the server that started it. */
  readonly files: ServerFiles;
  /** Where relative paths of a policy start. */
  readonly cwd: string;
  /** Set if there is an audit log. */
  readonly audit: Pick<AuditOptions, "onFailure"> | undefined;
  /** Whether anybody else wants to know what happens. */
  readonly isObserved: boolean;
  /** After this time without a connection, a session and a kept process, it says so. */
  readonly idleMs: number;
}

/** A connection that the server of a user is to serve. Its socket comes with it. */
export interface RelayedConnection {
  readonly number: number;
  readonly principal: string;
  readonly tokenName: string | undefined;
  readonly rights: RightsOptions;
  readonly resumable: boolean;
  readonly from: string;
  readonly source: string;
  readonly canPing: boolean;
  /** Where the server listens. */
  readonly ports: readonly number[];
}

/** How the connection of a client has ended. */
export interface RelayedEnd {
  readonly reason?: string | undefined;
  readonly receivedBytes?: number | undefined;
  readonly sentBytes?: number | undefined;
}

/** From the server to that of a user. */
export type ToUserServer =
  | { readonly kind: "settings"; readonly settings: UserSettings }
  | { readonly kind: "connect"; readonly connection: RelayedConnection }
  /** Whether lines of the audit log cannot be written now. */
  | { readonly kind: "auditFailing"; readonly isFailing: boolean }
  /** Whether the server is to get no new work. */
  | { readonly kind: "cordon"; readonly isCordoned: boolean }
  /** Is answered at once. */
  | { readonly kind: "ping" }
  | { readonly kind: "drain" }
  | { readonly kind: "close" };

export type LogLevel = "error" | "warn" | "info" | "debug";

/** What happens on the server of a user. Connections go by their numbers, and processes, too. */
export type Report =
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>> | undefined;
    }
  | { readonly kind: "audit"; readonly event: string; readonly facts: object; readonly who: string }
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

/** From the server of a user; checked by `readUserMessage`. */
export type FromUserServer =
  | { readonly kind: "ready" }
  | { readonly kind: "pong" }
  /** A connection has been taken with its socket, so that another one can be sent. */
  | { readonly kind: "taken" }
  /** It cannot serve, and ends. */
  | { readonly kind: "fault"; readonly message: string }
  | { readonly kind: "reports"; readonly reports: readonly Report[] }
  | { readonly kind: "idle" }
  /** A client has asked for it. */
  | { readonly kind: "cordon"; readonly isCordoned: boolean }
  | { readonly kind: "drained" };
