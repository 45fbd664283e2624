import * as fc from "fast-check";
import { expect, it } from "vitest";
import { Base64Error, decodeBase64, encodeBase64 } from "./base64.ts";

it("decodes what it encodes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(Buffer.from(decodeBase64(encodeBase64(bytes)))).toEqual(Buffer.from(bytes));
    }),
  );
});

it.each([
  ["YQ", "Invalid padding"],
  ["*QQQ", "Invalid symbol 42, offset 0."],
  ["ab-_", "Invalid symbol 45, offset 2."],
  ["YW Jj", "Invalid symbol 32, offset 2."],
  ["YR==", "Invalid last symbol 82, offset 1."],
  ["YWJjZ", "Invalid input length: 5"],
  ["YQ==YQ==", "Invalid symbol 61, offset 2."],
])("refuses %j", (text, message) => {
  expect(() => decodeBase64(text)).toThrow(new Base64Error(message));
});
