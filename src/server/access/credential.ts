import { localPrincipal } from "./principal.ts";
import type { Rights } from "./rights.ts";

const CHECK_MS = 1_000;

/** The principal of a connection, and its rights. */
export interface Credential {
  /**
   * Kept processes belong to a principal, and a session with a silent client is handed over only to the same principal.
   */
  readonly principal: string;
  /** Name of the token, if it has one. */
  readonly name?: string;
  readonly rights: Rights;
  /** When it ends, or the certificate that was shown with it, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
  /** Aborted when it ends before its time. */
  readonly withdrawn?: AbortSignal;
}

/** A client's principal and rights. */
export type Party = Pick<Credential, "principal" | "rights">;

/** The credential of connections without authentication: they act for the user that runs the server. */
export function localCredential(rights: Rights): Credential {
  return { principal: localPrincipal(), rights };
}

/** Calls `ended` once when a credential ends, never at once. Returns what stops watching. */
export function watchValidity(credential: Credential, ended: (reason: string) => void): () => void {
  const { expiresAtMs, withdrawn } = credential;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => ended("the token was revoked, or its rights have changed");
  const check = (): void => {
    const leftMs = expiresAtMs! - Date.now();
    if (leftMs <= 0) ended("the token or the client certificate has expired");
    // The clock may be set meanwhile, and timers have a longest time.
    else timer = setTimeout(check, Math.min(leftMs, CHECK_MS)).unref();
  };
  if (expiresAtMs !== undefined) timer = setTimeout(check, 0).unref();
  if (withdrawn?.aborted === true) setImmediate(end);
  else withdrawn?.addEventListener("abort", end);
  return () => {
    clearTimeout(timer);
    withdrawn?.removeEventListener("abort", end);
  };
}
