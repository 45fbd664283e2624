import { createHash } from "node:crypto";

const LABEL_CHARACTERS = 12;

/** Names a session in logs. The session id itself is a secret: anyone who knows it can take the session over. */
export function sessionLabel(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex").slice(0, LABEL_CHARACTERS);
}
