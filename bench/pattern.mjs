/** Bytes that depend on their position, so that lost or swapped ones are noticed. */
export function patternBytes(length) {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * 7 + (i >> 16) * 13) & 0xff;
  return bytes;
}
