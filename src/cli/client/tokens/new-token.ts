import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;
/** It cannot be mistaken for an option, and tools that search for leaked secrets can find it. */
const TOKEN_PREFIX = "exs_";

/** A token that was just made, and what the token table holds of it. */
export interface NewToken {
  readonly token: string;
  readonly sha256: string;
}

export function newToken(): NewToken {
  const token = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  return { token, sha256: createHash("sha256").update(token).digest("hex") };
}
