import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodings, Replacer, ReplacingStream, replaceAllText } from "./replacement.ts";

const SECRET = "k-abcdefghijklmnopqrst";
const STAND_IN = "k-zyxwvutsrqponmlkjihg";
const pairs = encodings(SECRET, STAND_IN);

async function through(chunks: readonly Buffer[]): Promise<string> {
  const stream = new ReplacingStream(() => pairs);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  return text(stream);
}

describe("the encodings of a secret", () => {
  it("are as long as those of its stand-in", () => {
    for (const { from, to } of pairs) expect(from).toHaveLength(to.length);
  });

  it("are found in base64, whatever precedes it", () => {
    for (const before of ["", "u", "us", "use", "user:"]) {
      const replaced = replaceAllText(Buffer.from(`${before}${SECRET}:after`).toString("base64"), pairs);
      const decoded = Buffer.from(replaced, "base64").toString("latin1");
      // One character at each end may be mixed of both.
      expect(decoded).toContain(STAND_IN.slice(1, -1));
      expect(decoded).not.toContain(SECRET.slice(2, -2));
    }
  });

  it("are found in hexadecimal digits", () => {
    const digits = Buffer.from(SECRET).toString("hex");
    for (const encoded of [digits, digits.toUpperCase()])
      expect(Buffer.from(replaceAllText(encoded, pairs), "hex").toString()).toBe(STAND_IN);
  });
});

describe("a stream", () => {
  it("is the same however it is cut", async () => {
    const parts = fc.constantFrom(
      SECRET,
      SECRET.slice(0, 5),
      SECRET.slice(5),
      "k-",
      "k",
      "x",
      STAND_IN,
      ...pairs.map(({ from }) => from),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(parts, { maxLength: 8 }),
        fc.array(fc.nat(30), { maxLength: 30 }),
        async (words, cuts) => {
          const whole = Buffer.from(words.join(""));
          const chunks: Buffer[] = [];
          let rest = whole;
          for (const cut of cuts) {
            chunks.push(rest.subarray(0, cut));
            rest = rest.subarray(cut);
          }
          chunks.push(rest);
          const replaced = await through(chunks);
          expect(replaced).toHaveLength(whole.length);
          expect(replaced).not.toContain(SECRET);
          expect(replaced).toBe(await through([whole]));
        },
      ),
    );
  });

  it("does not change the memory it was given", async () => {
    const given = Buffer.from(SECRET);
    expect(await through([given])).toBe(STAND_IN);
    expect(given.toString()).toBe(SECRET);
  });

  const pieces = (words: readonly string[]): string[] => {
    const replacer = new Replacer(() => pairs);
    return [...words.map((word) => replacer.push(Buffer.from(word))), replacer.flush()].map(String);
  };

  it("passes on what no secret could continue", () => {
    expect(pieces(["data: x\n\n", '{"a":1}', "a b"])).toEqual(["data: x\n\n", '{"a":1}', "a ", "b"]);
  });

  it("passes on what is too long ago", () => {
    const [first, rest] = pieces(["x".repeat(1_000)]);
    expect([first!.length, rest!.length]).toEqual([1_000 - (2 * SECRET.length - 1), 2 * SECRET.length - 1]);
  });

  it("is cut in the same places whether or not a guess is right", () => {
    const kinds = (text: string): number[] => pieces([`data ${text}`, "!"]).map((piece) => piece.length);
    for (const { from } of pairs)
      for (let length = 1; length < from.length; length += 1) {
        const right = from.slice(0, length);
        const last = right.at(-1) === "a" ? "b" : "a";
        expect(kinds(right)).toEqual(kinds(right.slice(0, -1) + last));
      }
  });

  it("finds a secret that has changed in the meantime, with characters that the first one did not have", () => {
    const next = "k!{}<>ghijklmnopqrst.1";
    let now = pairs;
    const replacer = new Replacer(() => now);
    const first = replacer.push(Buffer.from(`${SECRET} k`)).toString();
    now = encodings(next, STAND_IN);
    const second = replacer.push(Buffer.from(next.slice(1, 5))).toString();
    const third = replacer.push(Buffer.from(next.slice(5))).toString();
    expect(first + second + third + replacer.flush().toString()).toBe(`${STAND_IN} ${STAND_IN}`);
  });
});
