import { expect, it } from "vitest";
import { JsonText, JsonParts } from "../../rpc/json-text.ts";
import { answerBytes } from "./answer-bytes.ts";

/** As the contents of a file are answered, with and without a member after them. */
const ANSWERS = [
  (base64: string) => `{"dataBase64":"${base64}"}`,
  (base64: string) => `{"chunk":"${base64}","eof":true}`,
];
/** Around the length of an edge, and longer. */
const LENGTHS = [...Array.from({ length: 80 }, (_, length) => length), 1_000, 100_001];

function split(text: string, sizes: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text);
  const parts: Uint8Array[] = [];
  for (let start = 0, index = 0; start < bytes.length; index += 1) {
    const size = sizes[index] ?? bytes.length;
    parts.push(Uint8Array.from(bytes.subarray(start, start + size)));
    start += size;
  }
  return parts;
}

it.each(LENGTHS)("the bytes of contents are counted in an answer of %i, however it is split", (length) => {
  for (const answer of ANSWERS) {
    const text = answer(Buffer.alloc(length, "x").toString("base64"));
    expect(answerBytes(new JsonText(text))).toBe(length);
    const halves = [text.length - 1, text.length >> 1, 1];
    for (const sizes of [
      [],
      [5, 9],
      Array.from(text.slice(0, 300), () => 1),
      ...halves.map((first) => [first]),
    ])
      expect(answerBytes(new JsonParts(split(text, sizes)))).toBe(length);
  }
});

it("an answer that is a value has the bytes of its chunk", () => {
  for (const length of [0, 1, 2, 3, 100])
    expect(answerBytes({ chunk: Buffer.alloc(length).toString("base64"), eof: false })).toBe(length);
});

it.each([undefined, null, {}, { chunk: null }, "text", new JsonText("{}"), new JsonText('{"entries":[]}')])(
  "an answer without contents has no bytes: %j",
  (result) => {
    expect(answerBytes(result)).toBeUndefined();
  },
);
