import { shownUrl } from "../../../base/shown-url.ts";
import type { ClientTls } from "../../../client/link/client-tls.ts";
import type { FleetAddress } from "../../../fleet/fleet-address.ts";
import type { ServerProgram } from "./program/server-child.ts";

/** A fleet of hosts.toml. */
export interface NamedFleet {
  readonly name: string;
  readonly address: FleetAddress;
  /** Token for its executors. */
  readonly token?: string;
}

/** A server at a URL. */
interface UrlTarget extends ClientTls {
  readonly kind: "url";
  /** Host of hosts.toml that has this URL. */
  readonly name?: string;
  readonly url: string;
  readonly token?: string;
  readonly connectTimeoutMs?: number;
  readonly initializeTimeoutMs?: number;
}

/** A server that a command starts, such as ssh. */
interface ProgramTarget extends ServerProgram {
  readonly kind: "program";
  readonly initializeTimeoutMs?: number;
}

/** An executor of a fleet of hosts.toml. */
export interface ExecutorTarget {
  readonly kind: "executor";
  /** `FLEET/ID`. */
  readonly name: string;
  readonly fleet: NamedFleet;
  readonly id: string;
  readonly token?: string;
}

/** Where a command runs. `own` is the user's own server on this machine, which is started on demand. */
export type Target = UrlTarget | ProgramTarget | ExecutorTarget | { readonly kind: "own" };

/** Name of a server in results. */
export function targetName(target: Target): string {
  if (target.kind === "own") return "local";
  return target.kind === "url" ? (target.name ?? shownUrl(target.url)) : target.name;
}
