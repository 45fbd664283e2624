import { CapabilityError, type ErrorCode } from "../../base/errors.ts";

/** Meaning of socket and name lookup errors. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ENOTFOUND: "UNKNOWN_HOST",
  EAI_AGAIN: "UNKNOWN_HOST",
  EAI_NODATA: "UNKNOWN_HOST",
  ETIMEDOUT: "TIMED_OUT",
};

/** A request that was not sent or not answered. Its message says no more than Codex's; the code does. */
export function sendFailure(url: URL, cause: unknown): CapabilityError {
  const errno = errnoOf(cause);
  return new CapabilityError(
    (errno === undefined ? undefined : CODES[errno]) ?? "OS_ERROR",
    `error sending request for url (${url.href})`,
    { cause, errno },
  );
}

/** The underlying system error: a connection wraps it once for undici. Codes of libraries are ignored. */
function errnoOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === "string" && /^E(?!RR_)[A-Z0-9_]{1,30}$/.test(code)) return code;
  return cause === undefined || cause === error ? undefined : errnoOf(cause);
}
