import { reaches, type Rights } from "../access/rights.ts";
import type { ProcessEntry } from "../processes/process-table.ts";

/** Who asks for kept processes. */
export interface KeptClient {
  readonly principal: string;
  readonly rights: Rights;
}

/**
 * The most that a client may do with a kept process: with its own what its preset allows, unless it was started with
 * other rights, and with those of others what it is granted. Undefined: it does not even see it.
 */
export function modeFor(
  { principal, rights }: KeptClient,
  owner: string,
  { rights: started }: Pick<ProcessEntry, "rights">,
): "control" | "follow" | undefined {
  const isOwn = owner === principal && (started === undefined || reaches(rights, started));
  if (!isOwn) return rights.grant(owner);
  return rights.allows("control") ? "control" : "follow";
}
