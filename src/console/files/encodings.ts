/** The encodings to choose from, by their names in the Encoding standard. */
export const ENCODINGS = {
  "utf-8": "UTF-8",
  "utf-16le": "UTF-16 LE",
  "utf-16be": "UTF-16 BE",
  "windows-1252": "Western (windows-1252, Latin-1)",
  "iso-8859-15": "Western (ISO 8859-15)",
  macintosh: "Western (Mac)",
  "windows-1250": "Central European (windows-1250)",
  "iso-8859-2": "Central European (ISO 8859-2)",
  "windows-1251": "Cyrillic (windows-1251)",
  "koi8-r": "Cyrillic (KOI8-R)",
  ibm866: "Cyrillic (IBM 866)",
  "windows-1253": "Greek (windows-1253)",
  "windows-1254": "Turkish (windows-1254)",
  shift_jis: "Japanese (Shift JIS)",
  "euc-jp": "Japanese (EUC-JP)",
  gb18030: "Chinese (GB 18030)",
  big5: "Chinese (Big5)",
  "euc-kr": "Korean (EUC-KR)",
} as const;

export type Encoding = keyof typeof ENCODINGS;

/** Number of leading characters that decide whether something is text. */
const PROBED = 64 * 1024;
const FIRST_BEYOND_ASCII = 0x80;
const REPLACEMENT = 0xfffd;
const SPACE = 0x20;

/** The text of bytes; whatever is invalid becomes U+FFFD. A part may end within a character. */
export function decode(bytes: Uint8Array, encoding: Encoding, isWhole: boolean): string {
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes, { stream: !isWhole });
}

/**
 * The bytes of a text. Throws if the encoding lacks a character, and for characters of several bytes other than those of
 * Unicode, for which browsers have no encoder.
 */
export function encode(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === "utf-8") return new TextEncoder().encode(text);
  return encoding.startsWith("utf-16")
    ? encodeUtf16(text, encoding === "utf-16le")
    : encodeSingleBytes(text, encoding);
}

/** The probable encoding of a file's bytes, or of its first ones; undefined if it is not text. */
export function guessEncoding(bytes: Uint8Array, isWhole: boolean): Encoding | undefined {
  const marked = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-16be";
  if (marked === "utf-16le" || (bytes[0] === 0xfe && bytes[1] === 0xff))
    return looksLikeText(decode(bytes.subarray(0, PROBED), marked, false)) ? marked : undefined;
  if (bytes.subarray(0, PROBED).includes(0)) return undefined;
  const text = decode(bytes, "utf-8", isWhole);
  const encoding = isMostlyUtf8(text) ? "utf-8" : "windows-1252";
  const shown = encoding === "utf-8" ? text : decode(bytes.subarray(0, PROBED), encoding, false);
  return looksLikeText(shown) ? encoding : undefined;
}

/** Whether bytes are valid in UTF-8. */
export function isUtf8(bytes: Uint8Array, isWhole: boolean): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
    return true;
  } catch {
    return false;
  }
}

/** A log with a few broken bytes is still UTF-8; in a text of an older encoding hardly any sequence is valid. */
function isMostlyUtf8(text: string): boolean {
  let [valid, invalid] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === REPLACEMENT) invalid++;
    else if (code >= FIRST_BEYOND_ASCII) valid++;
  }
  return invalid <= valid;
}

/** Text has hardly any controls or invalid bytes. */
function looksLikeText(text: string): boolean {
  const probe = text.slice(0, PROBED);
  const odd = probe.match(/(?!\s)[\ufffd\p{Cc}]/gu)?.length ?? 0;
  return odd < probe.length / 10 || probe === "";
}

function encodeUtf16(text: string, isLittleEndian: boolean): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 2);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < text.length; at++) view.setUint16(at * 2, text.charCodeAt(at), isLittleEndian);
  return bytes;
}

function encodeSingleBytes(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  const table = tableOf(encoding);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const byte = table.get(text.charCodeAt(at));
    if (byte === undefined)
      throw new Error(
        `the page cannot write “${String.fromCodePoint(text.codePointAt(at)!)}” in ${encoding}; remove it`,
      );
    bytes[at] = byte;
  }
  return bytes;
}

const tables = new Map<Encoding, ReadonlyMap<number, number>>();

/** The bytes that are a character by themselves. */
function tableOf(encoding: Encoding): ReadonlyMap<number, number> {
  const known = tables.get(encoding);
  if (known !== undefined) return known;
  const table = new Map<number, number>();
  for (let byte = 0; byte <= 0xff; byte++) {
    // After a space: Node 20 decodes a lone 0xff to nothing.
    const text = decode(Uint8Array.of(SPACE, byte), encoding, true);
    const code = text.charCodeAt(1);
    if (text.length === 2 && code !== REPLACEMENT) table.set(code, byte);
  }
  tables.set(encoding, table);
  return table;
}
