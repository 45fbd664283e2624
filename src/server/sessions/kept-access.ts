import type { Party } from "../access/credential.ts";
import { FULL_RIGHTS, type Rights } from "../access/rights.ts";
import type { ProcessEntry } from "./process-table.ts";

type StartedWith = Pick<ProcessEntry, "rights">;

/**
 * Whether a client has the rights that a kept process was started with, so that controlling it does not give it more.
 */
export function hasRightsOf(rights: Rights, { rights: started = FULL_RIGHTS }: StartedWith): boolean {
  return rights.preset === "full" || rights.confinement === started.confinement;
}

/**
 * The strongest mode in which a client may use a kept process. Its own it may use as its preset allows, unless its name
 * has started them with other rights. Those of others it may follow, or control if it has the rights that they were
 * started with, as far as it is granted. Undefined: it cannot even see it.
 */
export function modeFor(
  { principal, rights }: Party,
  owner: string,
  started: StartedWith,
): "control" | "follow" | undefined {
  if (!hasRightsOf(rights, started)) return rights.grant(owner) && "follow";
  if (owner !== principal) return rights.grant(owner);
  return rights.allows("control") ? "control" : "follow";
}
