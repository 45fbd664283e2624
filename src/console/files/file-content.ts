import { decode, type Encoding, encode, guessEncoding, isUtf8 } from "./encodings.ts";

/** Contents of a file. */
export type FileContent =
  | TextContent
  | { readonly kind: "image"; readonly type: string }
  | { readonly kind: "binary" };

export interface TextContent extends TextForm {
  readonly kind: "text";
  readonly text: string;
  /** Saving it unchanged writes the same bytes; otherwise it must not be saved. */
  readonly isExact: boolean;
}

/** What the bytes of a text have besides its characters. */
export interface TextForm {
  readonly encoding: Encoding;
  readonly ending: LineEnding;
  /** It begins with a byte order mark. */
  readonly hasMark: boolean;
}

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

const MARK = "\ufeff";

/** The type of an image by its name. */
export function imageType(name: string): string | undefined {
  const extension = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
  return Object.hasOwn(IMAGES, extension) ? IMAGES[extension] : undefined;
}

/** Detects the contents from a file's bytes, or its first ones. A chosen encoding makes a text of anything. */
export function contentOf(bytes: Uint8Array, isWhole: boolean, chosen?: Encoding): FileContent {
  const encoding = chosen ?? guessEncoding(bytes, isWhole);
  if (encoding === undefined) return { kind: "binary" };
  const whole = decode(bytes, encoding, isWhole);
  const hasMark = whole.startsWith(MARK);
  const marked = hasMark ? whole.slice(1) : whole;
  const ending = endingOf(marked);
  const text = ending === "crlf" ? marked.replaceAll("\r\n", "\n") : marked;
  return { kind: "text", text, encoding, ending, hasMark, isExact: isExact(bytes, whole, encoding, isWhole) };
}

/** Whether the text gives the same bytes again. */
function isExact(bytes: Uint8Array, text: string, encoding: Encoding, isWhole: boolean): boolean {
  if (encoding === "utf-8") return isUtf8(bytes, isWhole);
  try {
    return isSame(encode(text, encoding), bytes);
  } catch {
    return false;
  }
}

/** The bytes of a text as they were: with its encoding, its mark and its line endings. */
export function bytesOf(text: string, { encoding, ending, hasMark }: TextForm): Uint8Array<ArrayBuffer> {
  const lines = ending === "crlf" ? text.replaceAll("\n", "\r\n") : text;
  return encode(hasMark ? MARK + lines : lines, encoding);
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
