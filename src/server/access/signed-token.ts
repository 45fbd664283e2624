import { parseJson } from "../../protocol/json-scan.ts";
import { isTable, readRights, RIGHTS_KEYS } from "./read-rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";

/** Policy for signed tokens. */
export interface SignedTokenPolicy {
  readonly secret: Uint8Array;
  readonly issuer?: string;
  readonly audience?: string;
  readonly maxClockSkewSeconds: number;
}

interface Claims {
  readonly exp: number;
  readonly nbf: number | undefined;
  readonly iss: string | undefined;
  readonly aud: readonly string[];
  /** Rights of its holder; undefined: everything. */
  readonly rights: RightsOptions | undefined;
}

/** Claim that carries the rights of a token. */
const RIGHTS_CLAIM = "exec_server";

/** The contents of a valid signed token, or why it is refused. */
export type SignedToken =
  | { readonly refusal: string }
  | { readonly rights: RightsOptions | undefined; readonly expiresAtMs: number };

export async function checkSignedToken(token: string, policy: SignedTokenPolicy): Promise<SignedToken> {
  const claims = await verifyToken(token, policy.secret);
  if (claims === undefined) return { refusal: "invalid websocket jwt" };
  const { exp, nbf, iss, aud, rights } = claims;
  const now = Math.floor(Date.now() / 1000);
  const end = exp + policy.maxClockSkewSeconds;
  if (now > end) return { refusal: "expired websocket jwt" };
  if (nbf !== undefined && now < nbf - policy.maxClockSkewSeconds)
    return { refusal: "websocket jwt is not valid yet" };
  if (policy.issuer !== undefined && iss !== policy.issuer)
    return { refusal: "websocket jwt issuer mismatch" };
  if (policy.audience !== undefined && !aud.includes(policy.audience))
    return { refusal: "websocket jwt audience mismatch" };
  // It is valid until the end of its last second.
  return { rights, expiresAtMs: (end + 1) * 1000 };
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
  const { nbf, iss, aud, [RIGHTS_CLAIM]: rights } = claims as Record<string, unknown>;
  const audiences: unknown[] = Array.isArray(aud) ? aud : aud === undefined || aud === null ? [] : [aud];
  if (!audiences.every((audience) => typeof audience === "string")) throw new Error("aud");
  if (iss !== undefined && iss !== null && typeof iss !== "string") throw new Error("iss");
  return {
    exp: readInteger(text, "exp"),
    nbf: nbf === undefined || nbf === null ? undefined : readInteger(text, "nbf"),
    iss: iss ?? undefined,
    aud: audiences,
    rights: rights === undefined ? undefined : claimedRights(rights),
  };
}

function claimedRights(claim: unknown): RightsOptions {
  const refuse = (key: string, why: string): Error => new Error(`${key} ${why}`);
  if (!isTable(claim)) throw refuse(RIGHTS_CLAIM, "must be an object");
  for (const key of Object.keys(claim)) if (!RIGHTS_KEYS.includes(key)) throw refuse(key, "is not known");
  return readRights(claim, refuse);
}

/** Parsed from the text: a fraction, an exponent or a 65th bit is not an integer, even if its value is one. */
function readInteger(text: string, name: string): number {
  const digits = parseJson(text, name).memberText ?? "";
  if (!/^-?[0-9]{1,19}$/.test(digits) || BigInt.asIntN(64, BigInt(digits)) !== BigInt(digits))
    throw new Error(name);
  return Number(digits);
}
