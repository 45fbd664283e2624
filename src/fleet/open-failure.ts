import { AuthorizationError, errors } from "@nats-io/transport-node";
import { ConnectionError, messageOf } from "../base/errors.ts";
import { describeTlsFault, type TlsOptionNames } from "../transport/tls-faults.ts";

/** Of the system: nobody is there to answer, which may change. */
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
/** What the library says if the connection ends before anything is known. */
const NO_REASON = "undefined error";
/** Somebody else may stand in for NATS, so the message does not suggest doing without TLS. */
const PLAIN_SCHEME = "nats:// only if it is meant to do without";
/** What it says in the cases that people meet, and what to do then. */
const KNOWN: readonly (readonly [said: string, meaning: string])[] = [
  ["does not support 'tls'", `the server does not speak TLS; connect with ${PLAIN_SCHEME}`],
  [
    "unexpected response from server",
    "what answers there is not a NATS server (it does not greet like one); check the address and the port",
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

/** Whether NATS could not be reached. Otherwise, it was, and something has to be changed before it lets anybody in. */
export function isAway(error: unknown): boolean {
  const cause = error instanceof ConnectionError ? error.cause : undefined;
  if (!(cause instanceof Error)) return false;
  // It did not answer, or went away before it had.
  if (cause instanceof errors.TimeoutError || cause instanceof errors.RequestError) return true;
  const { code } = systemError(cause);
  // A server that ends while somebody connects leaves the library without an error.
  return code === undefined ? cause.message.includes(NO_REASON) : AWAY.has(code);
}

function describe(cause: unknown): string {
  // One that wants a client certificate lets nobody in without saying so.
  if (cause instanceof errors.TimeoutError)
    return "it did not let this program in in time; check the address, and `cert` and `key` if it wants a certificate";
  const tls = describeTlsFault(systemError(cause), TLS_OPTIONS);
  if (tls !== undefined) return tls;
  const message = messageOf(cause);
  return KNOWN.find(([said]) => message.includes(said))?.[1] ?? message;
}

/** What the system said, which the library wraps. */
function systemError(error: unknown): NodeJS.ErrnoException {
  const { cause } = error as { cause?: unknown };
  return (cause ?? error) as NodeJS.ErrnoException;
}
