import { createHash } from "node:crypto";
import { userInfo } from "node:os";
import type { ClientCertificate } from "../../transport/websocket/client-certificates.ts";

/** Longer names are hashed, because the length of a token's claims is not limited. */
const MAX_NAME_CHARACTERS = 256;

/**
 * The principal of a signed token: its issuer and subject, so that a renewed token is the same principal, or without a
 * subject the token itself. It reveals nothing else about the token.
 */
export function signedTokenPrincipal(token: string): string {
  return subjectOf(token) ?? `token:${digest(token)}`;
}

/**
 * The principal of a client that has shown a certificate: its whole subject, so that a renewed certificate is the same
 * principal. A certificate without a subject stands for itself.
 */
export function certificatePrincipal({
  subject,
  fingerprint256,
}: Pick<ClientCertificate, "subject" | "fingerprint256">): string {
  // Node puts each part on its own line, and escapes its contents.
  const parts = (subject ?? "").split("\n").filter((part) => part !== "");
  if (parts.length === 0) return `cert:sha256=${fingerprint256.replaceAll(":", "").toLowerCase()}`;
  const shown = parts.map((part) => {
    const [name = "", ...value] = part.split("=");
    return `${nameOf(name)}=${nameOf(value.join("="))}`;
  });
  const whole = shown.join(",");
  return `cert:${whole.length > MAX_NAME_CHARACTERS ? `sha256=${digest(whole)}` : whole}`;
}

/** Whether a principal is a signed token without a subject: renewing it makes a different principal. */
export function isAnonymous(principal: string): boolean {
  return principal.startsWith("token:");
}

/** The principal of connections without a token: the user that runs the server. */
export function localPrincipal(): string {
  try {
    return `user:${userInfo().username}`;
  } catch {
    // The system may not list the user.
    return `user:${process.getuid?.() ?? "unknown"}`;
  }
}

function subjectOf(token: string): string | undefined {
  const payload = token.split(".")[1];
  if (payload === undefined) return undefined;
  try {
    const { iss, sub } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
    if (typeof sub !== "string" || sub === "") return undefined;
    return typeof iss === "string" ? `subject:${nameOf(iss)}/${nameOf(sub)}` : `subject:${nameOf(sub)}`;
  } catch {
    return undefined;
  }
}

/** A name without separators and control characters. */
function nameOf(claim: string): string {
  if (claim.length > MAX_NAME_CHARACTERS || /\p{Surrogate}/u.test(claim)) return `sha256=${digest(claim)}`;
  return encodeURIComponent(claim);
}

function digest(text: string): string {
  return createHash("sha256").update(text, "utf16le").digest("base64url");
}
