const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const PIECE = 0x8000;

/** The text that base64 stands for; undefined if it is not base64, or its bytes are not text. */
export function textOfBase64(base64: string): string | undefined {
  try {
    return decoder.decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

export function base64OfText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (let start = 0; start < bytes.length; start += PIECE)
    binary += String.fromCharCode(...bytes.subarray(start, start + PIECE));
  return btoa(binary);
}
