import { expect, test } from "vitest";
import { EscapeKeys } from "./escape-keys.ts";

/** What becomes of pieces of input: text that is sent, commands in angle brackets. */
function typed(...pieces: string[]): string {
  const keys = new EscapeKeys();
  return pieces
    .flatMap((piece) => keys.read(Buffer.from(piece)))
    .map((action) => ("send" in action ? Buffer.from(action.send).toString() : `<${action.command}>`))
    .join("");
}

test("a tilde and a point leave at the beginning of a line", () => {
  expect(typed("~.")).toBe("<leave>");
  expect(typed("ls\r~.")).toBe("ls\r<leave>");
  expect(typed("ls\n~.")).toBe("ls\n<leave>");
});

test("elsewhere they are text", () => {
  expect(typed("a~.")).toBe("a~.");
  expect(typed("ls ~/.\r")).toBe("ls ~/.\r");
  expect(typed("\r ~.")).toBe("\r ~.");
});

test("two tildes are one, and a tilde before any other key is sent with it", () => {
  expect(typed("~~.")).toBe("~.");
  expect(typed("~~~.")).toBe("~~.");
  expect(typed("\r~a")).toBe("\r~a");
  expect(typed("\r~\r~.")).toBe("\r~\r<leave>");
});

test("keys may come one by one", () => {
  expect(typed("l", "s", "\r", "~", ".")).toBe("ls\r<leave>");
  expect(typed("~", "~", "x")).toBe("~x");
});

test("a tilde waits for the next key", () => {
  expect(typed("\r~")).toBe("\r");
  expect(typed("\r~", "x")).toBe("\r~x");
});

test("help and suspending are commands, after which a line begins", () => {
  expect(typed("~?")).toBe("<help>");
  expect(typed("~\u001a~.")).toBe("<suspend><leave>");
});

test("bytes that are not text pass as they are", () => {
  const bytes = Uint8Array.of(0xff, 0xfe, 0x80);
  expect(new EscapeKeys().read(bytes)).toEqual([{ send: bytes }]);
});
