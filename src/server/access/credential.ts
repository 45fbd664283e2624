import { localPrincipal } from "./principal.ts";
import { FULL_RIGHTS, type Rights } from "./rights.ts";

/** Who a connection acts for, and what it may do. */
export interface Credential {
  /**
   * Kept processes belong to a principal, and a session with a silent client is handed over only to the same principal.
   */
  readonly principal: string;
  /** Name of the token, if it has one. */
  readonly name?: string;
  readonly rights: Rights;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
  /** Aborted when it ends before its time. */
  readonly withdrawn?: AbortSignal;
}

/** Of connections without authentication: they act for the user that runs the server, and may do everything. */
export function localCredential(): Credential {
  return { principal: localPrincipal(), rights: FULL_RIGHTS };
}
