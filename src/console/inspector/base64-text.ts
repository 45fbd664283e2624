import { decodeBase64, encodeBase64 } from "../../base/base64.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text that base64 stands for; undefined if it is not base64, or its bytes are not text. */
export function textOfBase64(base64: string): string | undefined {
  try {
    return decoder.decode(decodeBase64(base64, (reason) => new Error(reason)));
  } catch {
    return undefined;
  }
}

export function base64OfText(text: string): string {
  return encodeBase64(new TextEncoder().encode(text));
}
