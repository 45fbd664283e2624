import { ResponseError } from "./response-head.ts";

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const SEMICOLON = 59;
/** Sizes with their extensions, and trailers: nobody has use for more. */
const MAX_LINE_BYTES = 16 * 1024;
const MAX_TRAILER_BYTES = 1024 * 1024;
const SIZE = /^[0-9a-fA-F]{1,12}[\t ]*$/;
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** Takes the chunked coding off a body, however its bytes are cut. Extensions and trailers are dropped. */
export class ChunkedBody {
  readonly #data: (bytes: Buffer) => void;
  #state: "size" | "data" | "data-end" | "trailers" = "size";
  #chunkLeft = 0;
  /** The present line as far as it has come, one character for each byte. */
  #line = "";
  #trailerBytes = 0;

  constructor(data: (bytes: Buffer) => void) {
    this.#data = data;
  }

  /** Returns where the body has ended, or undefined when it goes on. */
  read(bytes: Buffer): number | undefined {
    let index = 0;
    while (index < bytes.length) {
      if (this.#state === "data") {
        const end = Math.min(bytes.length, index + this.#chunkLeft);
        this.#chunkLeft -= end - index;
        this.#data(bytes.subarray(index, end));
        if (this.#chunkLeft === 0) this.#state = "data-end";
        index = end;
        continue;
      }
      const newline = bytes.indexOf(NEWLINE, index);
      const end = newline < 0 ? bytes.length : newline + 1;
      this.#line += bytes.toString("latin1", index, end);
      if (this.#line.length > MAX_LINE_BYTES)
        throw new ResponseError("a line of the chunked body is too long");
      index = end;
      if (newline >= 0 && this.#readLine()) return index;
    }
    return undefined;
  }

  /** True after the last line. */
  #readLine(): boolean {
    const line = this.#line;
    this.#line = "";
    if (line.charCodeAt(line.length - 2) !== CARRIAGE_RETURN) throw malformed();
    const text = line.slice(0, -2);
    if (this.#state === "trailers") return this.#readTrailer(text);
    if (this.#state === "data-end") {
      if (text !== "") throw malformed();
      this.#state = "size";
      return false;
    }
    const extension = text.indexOf(String.fromCharCode(SEMICOLON));
    const size = extension < 0 ? text : text.slice(0, extension);
    if (!SIZE.test(size)) throw malformed();
    this.#chunkLeft = Number.parseInt(size, 16);
    this.#state = this.#chunkLeft === 0 ? "trailers" : "data";
    return false;
  }

  #readTrailer(text: string): boolean {
    if (text === "") return true;
    this.#trailerBytes += text.length;
    if (this.#trailerBytes > MAX_TRAILER_BYTES || !TRAILER.test(text)) throw malformed();
    return false;
  }
}

function malformed(): ResponseError {
  return new ResponseError("the chunked body is malformed");
}
