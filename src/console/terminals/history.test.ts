import { expect, test } from "vitest";
import { History } from "./history.ts";

const ALTERNATE = { isAlternate: true };
const NORMAL = { isAlternate: false };

function history(text: string, { cut = false } = {}): History {
  const made = new History();
  if (cut) made.cut();
  made.add(new TextEncoder().encode(text));
  return made;
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

test("whole output is repeated as it was", () => {
  expect(textOf(history("one\r\n\u001b[?1049hvim").take(ALTERNATE))).toBe("one\r\n\u001b[?1049hvim");
});

test("output without its beginning starts with a whole line", () => {
  expect(textOf(history("1mred\r\ntwo Grüße\r\n", { cut: true }).take(NORMAL))).toBe("two Grüße\r\n");
  expect(textOf(history("no end of a line", { cut: true }).take(NORMAL))).toBe("");
});

test("what a program drew on the alternate screen does not become lines above the screen", () => {
  const drawing = "\u001b[5;5Hdrawing\n";
  expect(textOf(history(drawing, { cut: true }).take(ALTERNATE))).toBe("");
  expect(textOf(history(`${drawing}\u001b[?1049lafter\r\n`, { cut: true }).take(NORMAL))).toBe("after\r\n");
  const later = `rest\r\nbefore\r\n\u001b[?1049h${drawing}`;
  expect(textOf(history(later, { cut: true }).take(ALTERNATE))).toBe(later.slice("rest\r\n".length));
});

test("only the newest output is kept", () => {
  const made = new History();
  const piece = new TextEncoder().encode(`${"x".repeat(1022)}\r\n`);
  for (let count = 0; count < 3000; count += 1) made.add(piece);
  const { length } = made.take(NORMAL);
  expect(length).toBeLessThanOrEqual(2 * 1024 * 1024);
  expect(length).toBeGreaterThan(2 * 1024 * 1024 - 4096);
});
