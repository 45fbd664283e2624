import type { Farewell } from "../transport.ts";

/** Maximum length of a close frame's reason. */
const MAX_REASON_BYTES = 123;
const INTERNAL_ERROR = 1011;
/** Codes that mean something only where no frame has arrived. */
const NEVER_SENT: ReadonlySet<number> = new Set([1004, 1005, 1006]);

/**
 * Close code and reason that fit a close frame. Both may come from an untrusted program, or from its last output, and
 * the libraries throw on anything else.
 */
export function closeFrame({ code, reason }: Farewell): Farewell {
  return { code: isSendable(code) ? code : INTERNAL_ERROR, reason: cut(reason) };
}

function isSendable(code: number): boolean {
  if (!Number.isInteger(code)) return false;
  return (code >= 1000 && code <= 1014 && !NEVER_SENT.has(code)) || (code >= 3000 && code <= 4999);
}

function cut(reason: string): string {
  const encoder = new TextEncoder();
  if (reason.length * 3 <= MAX_REASON_BYTES || encoder.encode(reason).length <= MAX_REASON_BYTES)
    return reason;
  const { read } = encoder.encodeInto(reason, new Uint8Array(MAX_REASON_BYTES - 3));
  return `${reason.slice(0, read)}…`;
}
