const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
/** Longer ids are not answered. */
const MAX_ID_BYTES = 256;

/**
 * Finds the id of a request that is too long to be kept, while its bytes pass by. Without it, the client would wait for
 * an answer that never comes.
 */
export class LongLine {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** What the outermost object holds at this place: a key, or a value that is not an object or array. */
  #text: number[] = [];
  #key = "";
  #id: string | number | undefined;
  #isRequest = false;

  push(bytes: Uint8Array): void {
    let depth = this.#depth;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    for (const byte of bytes) {
      if (depth === 1 && byte !== COLON && byte !== COMMA) this.#keep(byte);
      if (isInString) {
        if (depth === 1 && (byte === COLON || byte === COMMA)) this.#keep(byte);
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) isInString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        depth -= 1;
        if (depth === 0) this.#endMember(-1);
      } else if (depth === 1 && byte === COLON) this.#endKey();
      else if (depth === 1 && byte === COMMA) this.#endMember();
    }
    this.#depth = depth;
    this.#isInString = isInString;
    this.#isEscaped = isEscaped;
  }

  /** The request's id; undefined if the line is not a request, or is none that could be answered. */
  get requestId(): string | number | undefined {
    return this.#isRequest ? this.#id : undefined;
  }

  #keep(byte: number): void {
    if (this.#text.length <= MAX_ID_BYTES) this.#text.push(byte);
  }

  #endKey(): void {
    this.#key = this.#takeText();
    if (this.#key === '"method"') this.#isRequest = true;
  }

  /** `end`: where the value ends in what was kept. */
  #endMember(end?: number): void {
    const text = this.#takeText(end);
    if (this.#key === '"id"' && text.length <= MAX_ID_BYTES) this.#id = idOf(text);
    this.#key = "";
  }

  #takeText(end?: number): string {
    const text = Buffer.from(this.#text).toString("utf8").slice(0, end).trim();
    this.#text = [];
    return text;
  }
}

function idOf(text: string): string | number | undefined {
  try {
    const id = JSON.parse(text) as unknown;
    return typeof id === "string" || typeof id === "number" ? id : undefined;
  } catch {
    return undefined;
  }
}
