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
import { RefusalLog } from "../access/refusal-log.ts";
import type { Console } from "../console/console.ts";
import { FULL_RIGHTS } from "../access/rights.ts";

/** A server's admission policy. */
export interface AdmissionPolicy {
  /** Who may connect. Default: everyone who can reach the server and has a client certificate, if one is required. */
  readonly authentication?: AuthenticationPolicy | undefined;
  /**
   * URLs with which clients reach the server besides its own address, for example through a proxy. A request for any
   * other host is refused, so that web pages cannot reach the server under a name of their own.
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

/** The context of admission besides the policy. */
export interface Surroundings {
  /** Made from the policy's authentication. */
  readonly authenticator: Authenticator | undefined;
  readonly requiresCertificate: boolean;
  /** Whether only this machine's users can connect. */
  readonly isLocal: (ends: ConnectionEnds) => boolean;
  readonly console?: Console | undefined;
}

/** Causes of refusals that are not logged where they are decided. */
const UNLOGGED: ReadonlySet<RefusalCause> = new Set(["origin", "host", "limit", "request"]);
const NOT_ACCEPTED = "a connection was not accepted";

/** Admission rules for a transport. Throws a UsageError for a policy that cannot be applied. */
export function admissionFor(
  server: ObservedServer,
  {
    publicUrls,
    allowOrigins,
    allowLocalUsers,
    limits,
    logger = silentLogger,
  }: Omit<AdmissionPolicy, "authentication"> & ServerOptions,
  { authenticator, requiresCertificate, isLocal, console }: Surroundings,
): AdmissionOptions<Credential> {
  const users = new RefusalLog(logger);
  // Refused peers that send anything at all must not crowd lines about users, or about the server's limits, out of the
  // log.
  const strangers = new RefusalLog(logger);
  const limited = new RefusalLog(logger);
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
    // With a token, sandboxed programs cannot get in: policies never show them the secret.
    ...(authenticator === undefined
      ? { exclude: (ends) => server.exclude(ends), excludeUnix: (fd) => server.excludeUnix(fd) }
      : {}),
    // Asynchronous, because the lookup may have to wait for a descriptor.
    ...(asksForUser
      ? { excludeUser: async (ends) => (isLocal(ends) ? refuseOtherUser(ends, users) : undefined) }
      : {}),
    refused: (connection) => {
      const { cause, reason, from } = connection;
      if (UNLOGGED.has(cause)) (cause === "limit" ? limited : strangers).refused(reason, from, NOT_ACCEPTED);
      server.observer?.refused?.(connection);
    },
    failed: (reason, from) => (from === undefined ? limited : strangers).refused(reason, from, NOT_ACCEPTED),
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

/** A connection never outlives the presented certificate, whatever other credentials it has. */
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
