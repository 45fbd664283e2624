/** Contents of a file. */
export type FileContent =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly ending: LineEnding;
      readonly hasMark: boolean;
      /** Bytes that are not UTF-8 are shown as replacement characters; it must not be saved like that. */
      readonly isExact: boolean;
    }
  | { readonly kind: "image"; readonly type: string }
  | { readonly kind: "binary" };

/** Line endings. Mixed: carriage returns stay in the text, so that saving preserves every one. */
export type LineEnding = "lf" | "crlf" | "mixed";

const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
  ico: "image/x-icon",
  bmp: "image/bmp",
};

/** Number of leading bytes that decide whether it is text. */
const PROBED_BYTES = 64 * 1024;
const MARK = "\ufeff";

/** The type of an image by its name. */
export function imageType(name: string): string | undefined {
  const extension = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
  return Object.hasOwn(IMAGES, extension) ? IMAGES[extension] : undefined;
}

/** Detects the contents from a file's bytes, or its first ones. */
export function contentOf(bytes: Uint8Array, isWhole: boolean): FileContent {
  if (bytes.subarray(0, PROBED_BYTES).includes(0)) return { kind: "binary" };
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let whole: string;
  let isExact = true;
  try {
    // A part may end within a character.
    whole = decoder.decode(bytes, { stream: !isWhole });
  } catch {
    whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    isExact = false;
    if (!looksLikeText(whole)) return { kind: "binary" };
  }
  const hasMark = whole.startsWith(MARK);
  const marked = hasMark ? whole.slice(1) : whole;
  const ending = endingOf(marked);
  const text = ending === "crlf" ? marked.replaceAll("\r\n", "\n") : marked;
  return { kind: "text", text, ending, hasMark, isExact };
}

/** The bytes of a text as they were: with its mark and its line endings. */
export function bytesOf(
  text: string,
  { ending, hasMark }: { readonly ending: LineEnding; readonly hasMark: boolean },
): Uint8Array<ArrayBuffer> {
  const lines = ending === "crlf" ? text.replaceAll("\n", "\r\n") : text;
  return new TextEncoder().encode(hasMark ? MARK + lines : lines);
}

export function endingOf(text: string): LineEnding {
  const lines = count(text, "\n");
  const crlf = count(text, "\r\n");
  if (crlf === 0) return text.includes("\r") ? "mixed" : "lf";
  return crlf === lines && count(text, "\r") === crlf ? "crlf" : "mixed";
}

function count(text: string, part: string): number {
  let total = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) total++;
  return total;
}

/** Text in an old encoding has few bytes that are not UTF-8, and hardly any controls. */
function looksLikeText(text: string): boolean {
  const probe = text.slice(0, PROBED_BYTES);
  const odd = probe.match(/(?!\s)[\ufffd\p{Cc}]/gu)?.length ?? 0;
  return odd < probe.length / 10;
}

export interface HexRow {
  readonly offset: string;
  readonly bytes: string;
  readonly text: string;
}

/** Bytes as lines of sixteen. */
export function hexRows(bytes: Uint8Array): readonly HexRow[] {
  const rows: HexRow[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const line = [...bytes.subarray(at, at + 16)];
    const hex = line.map((byte) => byte.toString(16).padStart(2, "0"));
    rows.push({
      offset: at.toString(16).padStart(8, "0"),
      bytes: `${hex.slice(0, 8).join(" ")}  ${hex.slice(8).join(" ")}`,
      text: line.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join(""),
    });
  }
  return rows;
}

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
