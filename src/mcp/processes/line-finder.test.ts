import { describe, expect, it } from "vitest";
import { LineFinder } from "./line-finder.ts";
import { OutputLog } from "./output-log.ts";
import { Pattern } from "./pattern.ts";

const utf8 = new TextEncoder();
function finder(pattern: string, before = "", from = 0) {
  const log = new OutputLog();
  log.push(utf8.encode(before));
  return { log, found: new LineFinder(log, new Pattern(pattern), from) };
}

describe("finds a line", () => {
  it("that is there, and says where it ends", () => {
    const { found } = finder("^b", "a\r\nb€\r\nc\n");
    expect(found.next()).toEqual({ line: "b€", end: 9 });
  });

  it("that arrives in pieces, also inside a character", () => {
    const { log, found } = finder("€$");
    const bytes = utf8.encode("x\nab€\n");
    for (const byte of bytes.subarray(0, 6)) {
      log.push(Uint8Array.of(byte));
      expect(found.next()).toBeUndefined();
    }
    log.push(bytes.subarray(6));
    expect(found.next()).toEqual({ line: "ab€", end: 8 });
  });

  it("that has not ended, such as a prompt", () => {
    const { log, found } = finder("word: $", "Pass");
    expect(found.next()).toBeUndefined();
    log.push(utf8.encode("word: "));
    expect(found.next()).toEqual({ line: "Password: ", end: 10 });
  });

  it("from a position on", () => {
    expect(finder("a", "a\nb\na1\n", 2).found.next()).toEqual({ line: "a1", end: 7 });
    expect(finder("a", "a\nb\n", 2).found.next()).toBeUndefined();
  });

  it("after output that was dropped", () => {
    const { log, found } = finder("^end$", "beginning");
    expect(found.next()).toBeUndefined();
    log.push(new Uint8Array(3_000_000).fill(97));
    log.push(utf8.encode("\nend\n"));
    let match = found.next();
    for (let count = 0; match === undefined && count < 10; count += 1) match = found.next();
    expect(match).toEqual({ line: "end", end: 3_000_014 });
  });
});

it("looks at a long line piece by piece", () => {
  const { found } = finder("b$", `${"a".repeat(8_191)}b${"c".repeat(20_000)}`);
  expect(found.next()?.line).toHaveLength(8_192);
});

it("refuses a pattern that is none, and one that takes too long", () => {
  expect(() => new Pattern("(")).toThrow("pattern is not a regular expression");
  const slow = new Pattern("^(a+)+$");
  const begun = performance.now();
  expect(() => slow.findIn([`${"a".repeat(50)}!`])).toThrow("takes too long");
  expect(performance.now() - begun).toBeLessThan(5_000);
});
