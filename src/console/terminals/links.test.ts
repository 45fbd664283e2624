import { expect, test } from "vitest";
import { safeAddress } from "./links.ts";

test.each([
  ["https://example.com/a?b#c", "https://example.com/a?b#c"],
  ["HTTP://example.com", "http://example.com/"],
  ["javascript:alert(1)", undefined],
  ["java\nscript:alert(1)", undefined],
  ["data:text/html,<script>alert(1)</script>", undefined],
  ["file:///etc/passwd", undefined],
  ["vbscript:x", undefined],
  ["blob:https://example.com/1", undefined],
  ["/relative", undefined],
  ["", undefined],
])("%j opens %j", (text, address) => {
  expect(safeAddress(text)?.href).toBe(address);
});
