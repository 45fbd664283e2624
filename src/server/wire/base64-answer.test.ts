import fc from "fast-check";
import { expect, it } from "vitest";
import { base64Length } from "../../capabilities/base64-into.ts";
import { JsonText } from "../../rpc/json-text.ts";
import { Base64Answer } from "./base64-answer.ts";

function finish(answer: Base64Answer): string {
  const whole = answer.finish('{"a":"', '"}');
  return whole instanceof JsonText ? whole.text : Buffer.concat(whole.parts).toString();
}

it("an answer is the base64 of its pieces, however they are cut", () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 12, size: "max" });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const pieces = lengths.map((length, index) => Buffer.alloc(length, `piece ${index} `));
      const answer = new Base64Answer();
      const scratch = Buffer.alloc(300_000);
      for (const piece of pieces) {
        piece.copy(scratch);
        answer.push(scratch.subarray(0, piece.length));
        scratch.fill(0);
      }
      const whole = Buffer.concat(pieces);
      expect(answer.bytes).toBe(base64Length(whole.length));
      expect(finish(answer) === `{"a":"${whole.toString("base64")}"}`).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it("a million pieces of one byte take no more than their base64", () => {
  const answer = new Base64Answer();
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 1_000_000; index += 1) answer.push(Buffer.from([index]));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  expect(finish(answer)).toHaveLength(8 + base64Length(1_000_000));
});
