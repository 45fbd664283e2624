import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { silentLogger } from "../../base/logger.ts";
import type { RefusalCause } from "../../base/refused-connection.ts";
import type { AdmissionOptions } from "../../transport/websocket/websocket-server.ts";
import type { ObservedServer } from "./server.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { Authenticate, AuthenticationPolicy, Authenticator } from "../access/authentication.ts";
import type { Credential } from "../access/credential.ts";
import { refuseOtherUser } from "../access/local-users.ts";
import { checkedOrigin, publicHost } from "../access/origins.ts";
import { certificatePrincipal } from "../access/principal.ts";
import { LoginLog } from "../access/refused-logins.ts";
import type { Console } from "../console/console.ts";
import { FULL_RIGHTS } from "../access/rights.ts";

/** Whom a server admits. */
export interface AdmissionPolicy {
  /** Who may connect. Default: everyone who can reach the server and has a client certificate, if one is required. */
  readonly authentication?: AuthenticationPolicy | undefined;
  /**
   * URLs by which clients reach the server besides its own address, for example through a proxy. A request for any other
   * host is refused, so that no web page can reach the server under a name of its own.
   */
  readonly publicUrls?: readonly string[] | undefined;
  /** Origins whose pages may connect, exactly as browsers send them: `https://example.com`. Default: none. */
  readonly allowOrigins?: readonly string[] | undefined;
  /**
   * Admits other users of this machine to a loopback address without authentication. Default: false, which admits the
   * server's own user and root.
   */
  readonly allowLocalUsers?: boolean | undefined;
}

/** What an admission depends on besides the policy. */
export interface Surroundings {
  /** Of the policy's authentication. */
  readonly authenticator: Authenticator | undefined;
  readonly requiresCertificate: boolean;
  /** Whether only this machine's users can connect. */
  readonly isLocal: (ends: ConnectionEnds) => boolean;
  readonly console?: Console | undefined;
}

/** Refusals that whoever decides them does not log. */
const UNLOGGED: ReadonlySet<RefusalCause> = new Set(["origin", "host", "limit", "request"]);

/** How a transport applies the policy for a server. Throws a UsageError for a policy that cannot be applied. */
export function admissionFor(
  server: ObservedServer,
  {
    publicUrls,
    allowOrigins,
    allowLocalUsers,
    limits,
    logger,
  }: Omit<AdmissionPolicy, "authentication"> & ServerOptions,
  { authenticator, requiresCertificate, isLocal, console }: Surroundings,
): AdmissionOptions<Credential> {
  const log = new LoginLog(logger ?? silentLogger);
  // Strangers who send anything at all must not keep lines about users, or about the server's limits, out of the log.
  const strangers = new LoginLog(logger ?? silentLogger);
  const limited = new LoginLog(logger ?? silentLogger);
  const notAccepted = (by: LoginLog, reason: string, from: string | undefined): void =>
    by.warn("a connection was not accepted", { reason, ...(from === undefined ? {} : { from }) });
  const maxMessageBytes = limits?.maxMessageBytes;
  const decide =
    authenticator === undefined
      ? requiresCertificate && untilCertificateEnds(authenticateByCertificate)
      : untilCertificateEnds(authenticator.authenticate);
  const authenticate = decide && console ? console.using(decide) : decide;
  const asksForUser = !authenticate && !allowLocalUsers;
  return {
    ...(authenticate ? { authenticate } : {}),
    ...(console === undefined
      ? {}
      : { site: console, authenticatePage: (presented) => console.admit(presented) }),
    // With a token, a sandbox does not get in: no policy shows it the secret.
    ...(authenticator === undefined
      ? { exclude: (ends) => server.exclude(ends), excludeUnix: (fd) => server.excludeUnix(fd) }
      : {}),
    // Asynchronous, because there may be no descriptor to look it up.
    ...(asksForUser
      ? { excludeUser: async (ends) => (isLocal(ends) ? refuseOtherUser(ends, log) : undefined) }
      : {}),
    refused: (connection) => {
      const { cause, reason, from } = connection;
      if (UNLOGGED.has(cause)) notAccepted(cause === "limit" ? limited : strangers, reason, from);
      server.observer?.refused?.(connection);
    },
    failed: (reason, from) => notAccepted(from === undefined ? limited : strangers, reason, from),
    ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
    maxPendingConnections: limits?.maxPendingConnections,
    handshakeTimeoutMs: limits?.handshakeTimeoutMs,
    publicHosts: (publicUrls ?? []).map((url) => publicHost(url)),
    allowedOrigins: (allowOrigins ?? []).map((origin) => checkedOrigin(origin)),
    refuse: (credential) => server.refusal(credential),
    isReady: () => server.refusal() === undefined && server.audit?.isRefusing !== true,
    accept: (transport, credential) =>
      server.accept(transport, credential === undefined ? {} : { credential }),
  };
}

/** Nobody stays connected longer than the certificate is valid that was shown, whatever else was. */
function untilCertificateEnds(authenticate: Authenticate): Authenticate {
  return async (presented) => {
    const answer = await authenticate(presented);
    const { clientCertificate } = presented;
    if (clientCertificate === undefined || "refusal" in answer) return answer;
    const { expiresAtMs = Number.POSITIVE_INFINITY } = answer.credential;
    const first = Math.min(expiresAtMs, clientCertificate.expiresAtMs);
    return { credential: { ...answer.credential, expiresAtMs: first } };
  };
}

/** The transport has verified the certificate. */
const authenticateByCertificate: Authenticate = async ({ clientCertificate }) =>
  clientCertificate === undefined
    ? { refusal: "missing client certificate" }
    : { credential: { principal: certificatePrincipal(clientCertificate), rights: FULL_RIGHTS } };
