import { createHash, timingSafeEqual } from "node:crypto";
import { UsageError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { ClientCertificate } from "../../transport/websocket/tls-front.ts";
import { parseJson } from "../../protocol/json-scan.ts";
import { bearerToken } from "./bearer-token.ts";
import type { Credential } from "./credential.ts";
import { principalOf } from "./principal.ts";
import { LoginLog } from "./refused-logins.ts";
import { FULL_RIGHTS } from "./rights.ts";

/** Who may open a connection. */
export type AuthenticationPolicy =
  | {
      readonly mode: "capability-token";
      /** SHA-256 of the token, so the token itself need not be stored. */
      readonly tokenSha256: Buffer;
    }
  | {
      readonly mode: "signed-bearer-token";
      readonly secret: Uint8Array;
      readonly issuer?: string;
      readonly audience?: string;
      readonly maxClockSkewSeconds: number;
    };

/** What a peer shows when it connects. */
export interface Presented {
  /** Its Authorization header. */
  readonly authorization: string | undefined;
  /** Its address, for the log. */
  readonly from?: string;
  /** Its certificate, which has been verified. */
  readonly clientCertificate?: ClientCertificate;
}

/** The refusal message for the peer, or the credential with which it connects. */
export type Authentication = { readonly refusal: string } | { readonly credential: Credential };

export type Authenticate = (presented: Presented) => Promise<Authentication>;

/** A shorter secret could be guessed. */
export const MIN_SECRET_BYTES = 32;
const SHA256_BYTES = 32;

/** Logs who is refused, and why. Throws a UsageError for a policy that could admit the wrong ones, or nobody. */
export function createAuthenticator(
  policy: AuthenticationPolicy,
  logger: Logger = silentLogger,
): Authenticate {
  checkPolicy(policy);
  const log = new LoginLog(logger);
  const check = authenticator(policy);
  return async ({ authorization, from }) => {
    const refusal = await check(authorization);
    if (refusal === undefined)
      return { credential: { principal: principalOf(policy, authorization), rights: FULL_RIGHTS } };
    log.refused(refusal, from);
    return { refusal };
  };
}

function checkPolicy(policy: AuthenticationPolicy | null): void {
  switch (policy?.mode) {
    case "capability-token":
      if (policy.tokenSha256?.length === SHA256_BYTES) return;
      throw new UsageError("tokenSha256 must be the SHA-256 of the token, of 32 bytes");
    case "signed-bearer-token":
      if (policy.secret?.length >= MIN_SECRET_BYTES) return;
      throw new UsageError(`the secret must have at least ${MIN_SECRET_BYTES} bytes`);
    default:
      throw new UsageError("the mode of authentication must be capability-token or signed-bearer-token");
  }
}

function authenticator(
  policy: AuthenticationPolicy,
): (authorization: string | undefined) => Promise<string | undefined> {
  return async (authorization) => {
    if (authorization === undefined) return "missing websocket bearer token";
    const token = bearerToken(authorization);
    if (token === undefined) return "invalid authorization header";
    if (policy.mode === "signed-bearer-token") return checkJwt(token, policy);
    const presented = createHash("sha256").update(token).digest();
    return timingSafeEqual(presented, policy.tokenSha256) ? undefined : "invalid websocket bearer token";
  };
}

type JwtPolicy = Extract<AuthenticationPolicy, { mode: "signed-bearer-token" }>;

interface Claims {
  readonly exp: number;
  readonly nbf: number | undefined;
  readonly iss: string | undefined;
  readonly aud: readonly string[];
}

async function checkJwt(token: string, policy: JwtPolicy): Promise<string | undefined> {
  const claims = await verifyToken(token, policy.secret);
  if (claims === undefined) return "invalid websocket jwt";
  const { exp, nbf, iss, aud } = claims;
  const now = Math.floor(Date.now() / 1000);
  if (now > exp + policy.maxClockSkewSeconds) return "expired websocket jwt";
  if (nbf !== undefined && now < nbf - policy.maxClockSkewSeconds) return "websocket jwt is not valid yet";
  if (policy.issuer !== undefined && iss !== policy.issuer) return "websocket jwt issuer mismatch";
  if (policy.audience !== undefined && !aud.includes(policy.audience))
    return "websocket jwt audience mismatch";
  return undefined;
}

const COMPACT_JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Claims of a token signed with HS256 and this secret; undefined if the token is invalid in any way. */
async function verifyToken(token: string, secret: Uint8Array): Promise<Claims | undefined> {
  if (!COMPACT_JWT.test(token)) return undefined;
  const { compactVerify } = await import("jose");
  try {
    const { payload, protectedHeader } = await compactVerify(token, secret, { algorithms: ["HS256"] });
    if (protectedHeader.typ !== undefined && typeof protectedHeader.typ !== "string") return undefined;
    return readClaims(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    // The peer only learns that the token is invalid.
    return undefined;
  }
}

/** Throws if a claim is missing, repeated or of the wrong type. */
function readClaims(text: string): Claims {
  const claims = parseJson(text).value;
  if (typeof claims !== "object" || claims === null || Array.isArray(claims)) throw new Error("no object");
  const { nbf, iss, aud } = claims as Record<string, unknown>;
  const audiences: unknown[] = Array.isArray(aud) ? aud : aud === undefined || aud === null ? [] : [aud];
  if (!audiences.every((audience) => typeof audience === "string")) throw new Error("aud");
  if (iss !== undefined && iss !== null && typeof iss !== "string") throw new Error("iss");
  return {
    exp: readInteger(text, "exp"),
    nbf: nbf === undefined || nbf === null ? undefined : readInteger(text, "nbf"),
    iss: iss ?? undefined,
    aud: audiences,
  };
}

/** Parsed from the text: a fraction, an exponent or a 65th bit is not an integer, even if its value is one. */
function readInteger(text: string, name: string): number {
  const digits = parseJson(text, name).memberText ?? "";
  if (!/^-?[0-9]{1,19}$/.test(digits) || BigInt.asIntN(64, BigInt(digits)) !== BigInt(digits))
    throw new Error(name);
  return Number(digits);
}
