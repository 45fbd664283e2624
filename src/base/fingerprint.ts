const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/;

/** Whether a text is the fingerprint of a key, such as `SHA256:dGhl…`. */
export function isFingerprint(text: string): boolean {
  return FINGERPRINT.test(text);
}
