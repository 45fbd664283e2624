import { AuthorizationError, errors } from "@nats-io/transport-node";
import { ConnectionError, messageOf } from "../base/errors.ts";
import { describeTlsFault, type TlsOptionNames } from "../transport/tls-faults.ts";

/** System errors that mean that the server is unreachable, which may change. */
const AWAY = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);
/** The library's text if the connection ends before anything is known. */
const NO_REASON = "undefined error";
/** An impostor may stand in for NATS, so the message does not suggest doing without TLS. */
const PLAIN_SCHEME = "nats:// only if it is meant to run without TLS";
/** The library's texts in common cases, and what to do then. */
const KNOWN: readonly (readonly [said: string, meaning: string])[] = [
  ["does not support 'tls'", `the server does not speak TLS; connect with ${PLAIN_SCHEME}`],
  [
    "unexpected response from server",
    "the server there is not a NATS server (it sends no NATS greeting); check the address and the port",
  ],
  [NO_REASON, "the server closed the connection without a reason"],
];
const TLS_OPTIONS: TlsOptionNames = {
  ca: "`ca`, and connect with tls://",
  certificate: "`cert` and `key`",
  plainScheme: PLAIN_SCHEME,
};

/** Why NATS could not be connected to. A refused login is not UNAUTHORIZED, which is about the token of an executor. */
export function openFailure(cause: unknown): ConnectionError {
  if (cause instanceof AuthorizationError)
    return new ConnectionError(`failed to connect to NATS: ${refusedLogin(cause)}`, {
      cause,
      status: 401,
      code: "CONNECTION_CLOSED",
    });
  const { code } = systemError(cause);
  const errno = code !== undefined && AWAY.has(code) ? code : undefined;
  return new ConnectionError(`failed to connect to NATS: ${describe(cause)}`, { cause, errno });
}

export function refusedLogin({ message }: Error): string {
  return `it refused the login (${message})`;
}

/** Whether NATS was unreachable. Otherwise it was reached, and something has to change before it accepts the login. */
export function isAway(error: unknown): boolean {
  const cause = error instanceof ConnectionError ? error.cause : undefined;
  if (!(cause instanceof Error)) return false;
  // It did not answer, or disappeared before it had.
  if (cause instanceof errors.TimeoutError || cause instanceof errors.RequestError) return true;
  const { code } = systemError(cause);
  // If a server dies during a connection attempt, the library has no error.
  return code === undefined ? cause.message.includes(NO_REASON) : AWAY.has(code);
}

function describe(cause: unknown): string {
  // A server that requires a client certificate rejects the client without saying so.
  if (cause instanceof errors.TimeoutError)
    return "it did not accept the login in time; check the address, and `cert` and `key` if it requires a certificate";
  const tls = describeTlsFault(systemError(cause), TLS_OPTIONS);
  if (tls !== undefined) return tls;
  const message = messageOf(cause);
  return KNOWN.find(([said]) => message.includes(said))?.[1] ?? message;
}

/** The system error that the library wraps. */
function systemError(error: unknown): NodeJS.ErrnoException {
  const { cause } = error as { cause?: unknown };
  return (cause ?? error) as NodeJS.ErrnoException;
}
