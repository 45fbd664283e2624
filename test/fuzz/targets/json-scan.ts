import { stringEnd } from "../../../src/base/json-string.ts";
import { parseJson } from "../../../src/protocol/json-scan.ts";
import { expectEqual, expectTrue, type Target } from "../target.ts";

const MAX_DEPTH = 127;

/** Depth and repeated keys of valid JSON, by a parser that keeps everything. */
class Reader {
  readonly #text: string;
  #at = 0;
  deepest = 0;
  hasRepeatedKey = false;
  /** The text of the last `id` of the outermost object, if that is not an object or a list. */
  id: string | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#value(1);
  }

  #blanks(): void {
    while (" \t\r\n".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #token(): string {
    this.#blanks();
    const [token] = /^(?:"(?:[^"\\]|\\.)*"|[^\s,:{}[\]"]+|.)/s.exec(this.#text.slice(this.#at))!;
    this.#at += token.length;
    return token;
  }

  #peek(): string | undefined {
    this.#blanks();
    return this.#text[this.#at];
  }

  #value(depth: number): string | undefined {
    const token = this.#token();
    if (token !== "{" && token !== "[") return token;
    this.deepest = Math.max(this.deepest, depth);
    const keys = new Set<string>();
    while (this.#peek() !== "}" && this.#peek() !== "]") {
      let key: string | undefined;
      if (token === "{") {
        key = JSON.parse(this.#token()) as string;
        if (keys.has(key)) this.hasRepeatedKey = true;
        keys.add(key);
        this.#token();
      }
      const scalar = this.#value(depth + 1);
      if (depth === 1 && key === "id") this.id = scalar;
      if (this.#peek() === ",") this.#token();
    }
    this.#token();
    return undefined;
  }
}

function parsed(parse: () => unknown): { value?: unknown; error?: string } {
  try {
    return { value: parse() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function plainStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") at += 1;
  }
  return -1;
}

/** What is accepted is what JSON.parse accepts, less what the limits of the wire refuse. */
export const target: Target = {
  seeds: [
    "",
    '{"id":1,"method":"process/start","params":{"processId":"p","argv":["a\\"b","\\\\"],"env":{}}}',
    '{"jsonrpc":"2.0","id":"x\\u0041","result":[1.5e3,-0,null,true,false,{"a":{"a":[]}}]}',
    '{"i\\u0064":18446744073709551615,"result":"\u00e4\u6f22"}',
    '{"method":"fs/readFile","params":{"path":"file:///a"},"id":7}',
    '["a long string, longer than eight characters","\\\\\\\\\\\\\\\\\\""]',
    `${"[".repeat(126)}${"]".repeat(126)}`,
  ],
  words: [
    '"',
    "\\",
    '\\"',
    "\\\\",
    '\\\\"',
    '"id":',
    "\\u0069",
    ",",
    ":",
    "[",
    "]",
    "{",
    "}",
    "{}",
    "null",
    "1e9",
    "[[[[[[[[",
  ],
  run(input) {
    const text = input.toString("utf8");
    for (let quote = text.indexOf('"'), count = 0; quote >= 0 && count < 8; count += 1) {
      const end = plainStringEnd(text, quote);
      expectEqual(stringEnd(text, quote), end, "the end of a string");
      quote = end < 0 ? -1 : text.indexOf('"', end + 1);
    }
    const ours = parsed(() => parseJson(text));
    const theirs = parsed(() => JSON.parse(text) as unknown);
    if (theirs.error !== undefined) {
      expectTrue(ours.error !== undefined, "what is not JSON is refused");
      return;
    }
    const { deepest, hasRepeatedKey, id } = new Reader(text);
    // The scan counts brackets, also those of a text that has the wrong ones.
    const isRefused = deepest > MAX_DEPTH || hasRepeatedKey;
    expectEqual(
      ours.error !== undefined,
      isRefused,
      `refused is only what is too deep or repeats a key: ${ours.error}`,
    );
    if (isRefused) return;
    const { value, memberText } = ours.value as ReturnType<typeof parseJson>;
    expectEqual(value, theirs.value, "the value of JSON.parse");
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject) expectEqual(memberText, id, "the id as it is written");
  },
};
