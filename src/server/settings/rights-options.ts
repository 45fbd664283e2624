import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { ServerLimits } from "./limits.ts";
import type { Preset } from "./presets.ts";

/** Limits that a principal can have, below those of the server. */
export const PRINCIPAL_LIMITS = [
  "maxConnections",
  "maxSessions",
  "maxProcesses",
  "maxKeptProcesses",
] as const satisfies readonly (keyof ServerLimits)[];

export type PrincipalLimits = Partial<Pick<ServerLimits, (typeof PRINCIPAL_LIMITS)[number]>>;

/** A client's rights, as an operator writes them. */
export interface RightsOptions {
  readonly preset: Preset;
  /** For `sandboxed`: confines every process and every file call; a client's own sandbox can only narrow it. */
  readonly policy?: Sandbox;
  /** For `files`: the directories, as absolute paths. */
  readonly roots?: readonly string[];
  /** For `files`: allows no changes. Default: false. */
  readonly readOnly?: boolean;
  readonly limits?: PrincipalLimits;
  /** Names of the server's secrets that its processes may use. Default: all for `full`, none for the others. */
  readonly secrets?: readonly string[];
  /**
   * The user, by name or number, as whom the client's requests are carried out. It needs a server that runs as root.
   * Default: that of the server, otherwise its own user.
   */
  readonly runAs?: string;
  /** Names of tokens, or whole principals, whose kept processes it may follow; `*` stands for all. */
  readonly see?: readonly string[];
  /** The same for control, which includes following. Not for `files` and `observe`. */
  readonly control?: readonly string[];
}
