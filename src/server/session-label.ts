import { createHash } from "node:crypto";

const LABEL_CHARACTERS = 12;

/** What stands for a session in logs. Its id is a secret: whoever knows it may take the session over. */
export function sessionLabel(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex").slice(0, LABEL_CHARACTERS);
}
