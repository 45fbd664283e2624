/** A unique id. Pages without TLS have no `randomUUID`. */
export function randomId(): string {
  const { randomUUID } = crypto as { randomUUID?: () => string };
  if (randomUUID !== undefined) return randomUUID.call(crypto);
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
