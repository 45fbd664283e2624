import type { Logger } from "../../base/logger.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { ServerLimits } from "./limits.ts";
import type { ServerObserver } from "./observer.ts";
import type { RightsOptions } from "./rights-options.ts";
import type { SecretOptions } from "./secret-options.ts";

/** Where a server records what its clients do. */
export interface AuditOptions {
  /** Created if it is missing, for its user only. */
  readonly file: string;
  /** Size at which a file is closed and the next one begun. Default: 64 MiB. */
  readonly maxBytes?: number;
  /**
   * If lines cannot be written: `refuse` refuses requests that would have to be recorded, `continue` carries them out.
   * Default: `refuse`.
   */
  readonly onFailure?: "refuse" | "continue";
}

/** When an idle server calls back. */
export interface IdleOptions {
  readonly afterMs: number;
  /**
   * Called once, in a turn in which no client can be half accepted. Closing the server in the same turn loses no client
   * that it has answered.
   */
  readonly call: () => void;
}

/** Options of a server. */
export interface ServerOptions {
  /** Environment that processes may inherit. Default: nothing. */
  readonly environment?: Environment;
  readonly logger?: Logger;
  /** Maximum number of concurrent requests per connection. With 1, the default, they run in order. */
  readonly concurrentRequests?: number;
  /** Limits that differ from their defaults; see `LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
  /**
   * Absolute paths that no sandbox shows, whatever its policy: the secrets of the server, and its records. A file is
   * hidden with its directory, because another file can take its place while programs run.
   */
  readonly hiddenPaths?: readonly string[];
  /**
   * Confines every process and every call on files, of all clients; relative paths in it start at the working directory
   * of this program. A client's own sandbox can only narrow it. Default: clients decide.
   */
  readonly sandbox?: Sandbox;
  /** Refuses processes and calls on files that bring no sandbox. Default: false. */
  readonly requireSandbox?: boolean;
  /** Secrets that processes use and do not have. */
  readonly secrets?: readonly SecretOptions[];
  /** Whether clients may keep processes beyond their sessions. Default: true. */
  readonly keepProcesses?: boolean;
  /**
   * What clients may do that connect without authentication, over a Unix socket, stdio or in this program. Default:
   * everything.
   */
  readonly local?: RightsOptions;
  /**
   * The user, by name or number, as whom clients' requests are carried out, unless their own rights name another one.
   * It needs a program that runs as root. Default: its own user.
   */
  readonly runAs?: string;
  /** Version that the server reports in its handshake as `serverVersion`. Default: none. */
  readonly version?: string;
  /**
   * Command line of exec-server on this machine, for clients that start its other commands here. Default: none is
   * known.
   */
  readonly program?: readonly string[];
  /** Reports that the server has had no connection, session or kept process for some time. */
  readonly idle?: IdleOptions;
  /** Records what clients do in a file. Default: nothing is recorded. */
  readonly audit?: AuditOptions;
  /** Observers of what happens: for an audit log, for metrics. */
  readonly observers?: readonly ServerObserver[];
}
