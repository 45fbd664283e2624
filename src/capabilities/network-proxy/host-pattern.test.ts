import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { userTime } from "../../../test/fixtures/user-time.ts";
import { HostPatterns, parseHostPattern } from "./host-pattern.ts";

function matching(pattern: string, hosts: readonly string[]): string[] {
  const parsed = parseHostPattern(pattern);
  return hosts.filter((host) => parsed.matches(host));
}

const HOSTS = ["ok.test", "a.ok.test", "a.b.ok.test", "xok.test", ".ok.test", "ok.test.evil.test"];

describe("a host pattern", () => {
  it.each([
    ["ok.test", ["ok.test"]],
    ["OK.Test.", ["ok.test"]],
    [" ok.test ", ["ok.test"]],
    ["ok.test:80", ["ok.test"]],
    ["*.ok.test", ["a.ok.test", "a.b.ok.test"]],
    ["**.ok.test", ["ok.test", "a.ok.test", "a.b.ok.test"]],
    ["*ok.test", ["ok.test", "a.ok.test", "a.b.ok.test", "xok.test", ".ok.test"]],
    ["?ok.test", ["xok.test", ".ok.test"]],
    ["*", HOSTS],
    ["[*]", HOSTS],
    ["*:80", HOSTS],
  ])("%j matches %j", (pattern, expected) => {
    expect(matching(pattern, HOSTS)).toEqual(expected);
  });

  it("names an address in any spelling", () => {
    for (const pattern of ["::1", "[::1]", "[::1]:80", "0:0:0:0:0:0:0:1"])
      expect(matching(pattern, ["::1", "::2"])).toEqual(["::1"]);
    expect(matching("10.0.*", ["10.0.0.1", "10.1.0.1"])).toEqual(["10.0.0.1"]);
  });

  it.each([
    ["", "domain pattern is empty"],
    ["*.", "domain pattern is empty"],
    ["**.", "domain pattern is empty"],
    ["**", "unsupported repeated wildcard: **"],
    ["a.**.b", "unsupported repeated wildcard: a.**.b"],
    ["***.x", "unsupported repeated wildcard: ***.x"],
    ["[ab].test", "brackets are only supported for IPv6 literals or [*]: [ab].test"],
    ["[::1", "brackets are only supported for IPv6 literals or [*]: [::1"],
    ["{a,b}.test", "unsupported domain pattern syntax: {a,b}.test"],
    ["http://ok.test", "unsupported domain pattern syntax: http://ok.test"],
    ["10.0.0.0/8", "unsupported domain pattern syntax: 10.0.0.0/8"],
    ["a b", "unsupported domain pattern syntax: a b"],
  ])("%j is refused", (pattern, message) => {
    expect(() => parseHostPattern(pattern)).toThrow(message);
  });

  it("matches what the same regular expression would", () => {
    const text = (characters: string, minLength: number) =>
      fc.string({ unit: fc.constantFrom(...characters.split("")), minLength, maxLength: 12 });
    fc.assert(
      fc.property(text("ab.*?", 1), text("ab.", 0), (glob, host) => {
        const usable = !glob.includes("**") && !glob.endsWith(".") && !glob.startsWith("*.") && glob !== "*";
        fc.pre(usable);
        const source = glob.replace(
          /[.*?]/g,
          (character) => ({ ".": "\\.", "*": ".*", "?": "." })[character]!,
        );
        expect(parseHostPattern(glob).matches(host)).toBe(new RegExp(`^${source}$`).test(host));
      }),
      { numRuns: 1000 },
    );
  });

  it("takes no time for a pattern that is made to take long", () => {
    const pattern = parseHostPattern(`${"*a".repeat(100)}b`);
    const start = process.cpuUsage();
    expect(pattern.matches("a".repeat(253))).toBe(false);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(1_000);
  });
});

it("hosts that are longer than any name take no longer than as much other text", () => {
  const hosts = Array.from({ length: 2_000 }, (_, index) => `${"k".repeat(20_000)}${100_000 + index}`);
  const patterns = [...hosts, "ok.test"].map((text) => parseHostPattern(text));
  // V8 gives all of them one hash.
  expect(userTime(() => new HostPatterns(patterns))).toBeLessThan(2_000);
  expect(new HostPatterns(patterns).names("ok.test")).toBe(true);
});
