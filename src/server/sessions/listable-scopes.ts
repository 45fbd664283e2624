import type { Rights } from "../access/rights.ts";

/** The scopes of `process/list` that a client may use. */
export function listableScopes(rights: Rights, allowServerScope: boolean): ("session" | "kept" | "server")[] {
  if (!rights.allows("follow")) return [];
  const seesAll = allowServerScope && rights.preset !== "sandboxed";
  return seesAll ? ["session", "kept", "server"] : ["session", "kept"];
}
