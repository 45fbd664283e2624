import { createHash, timingSafeEqual } from "node:crypto";

/** Who may open a connection. */
export type AuthenticationPolicy =
  | {
      readonly mode: "capability-token";
      /** SHA-256 of the token, so that the token itself need not be kept. */
      readonly tokenSha256: Buffer;
    }
  | {
      readonly mode: "signed-bearer-token";
      readonly secret: Uint8Array;
      readonly issuer?: string;
      readonly audience?: string;
      readonly maxClockSkewSeconds: number;
    };

/** Resolves with what the peer is told when it is refused, or undefined when it may come in. */
export type Authenticate = (authorization: string | undefined) => Promise<string | undefined>;

export function createAuthenticator(policy: AuthenticationPolicy): Authenticate {
  return async (authorization) => {
    if (authorization === undefined) return "missing websocket bearer token";
    const token = bearerToken(authorization);
    if (token === undefined) return "invalid authorization header";
    if (policy.mode === "signed-bearer-token") return checkJwt(token, policy);
    const presented = createHash("sha256").update(token).digest();
    return timingSafeEqual(presented, policy.tokenSha256) ? undefined : "invalid websocket bearer token";
  };
}

function bearerToken(authorization: string): string | undefined {
  const [, scheme, rest = ""] = /^(\S+)\s(.*)$/s.exec(authorization) ?? [];
  const token = rest.trim();
  return scheme?.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

type JwtPolicy = Extract<AuthenticationPolicy, { mode: "signed-bearer-token" }>;

async function checkJwt(token: string, policy: JwtPolicy): Promise<string | undefined> {
  const claims = await verifySignature(token, policy.secret);
  if (claims === undefined) return "invalid websocket jwt";
  const { exp, nbf, iss, aud } = claims;
  if (!isInteger(exp) || (nbf !== undefined && !isInteger(nbf))) return "invalid websocket jwt";
  const now = Math.floor(Date.now() / 1000);
  if (now > exp + policy.maxClockSkewSeconds) return "expired websocket jwt";
  if (nbf !== undefined && now < nbf - policy.maxClockSkewSeconds) return "websocket jwt is not valid yet";
  if (policy.issuer !== undefined && iss !== policy.issuer) return "websocket jwt issuer mismatch";
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (policy.audience !== undefined && !audiences.includes(policy.audience))
    return "websocket jwt audience mismatch";
  return undefined;
}

/** The claims of a token that is signed with HS256 and this secret; nothing else about it is checked. */
async function verifySignature(
  token: string,
  secret: Uint8Array,
): Promise<Record<string, unknown> | undefined> {
  const { compactVerify } = await import("jose");
  try {
    const { payload } = await compactVerify(token, secret, { algorithms: ["HS256"] });
    const claims: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    // Whatever is wrong with it, the peer only learns that it is.
    return undefined;
  }
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
