import { expect, it } from "vitest";
import { parseExpiry, type RightsFlags, tokenLines } from "./token-lines.ts";
import { checkLines } from "./read-table.ts";

const DIGEST = "ab".repeat(32);
const check = async (flags: RightsFlags, name = "ci"): Promise<void> =>
  checkLines(tokenLines(name, DIGEST, flags));

it("lines hold what was asked for, and nothing else", async () => {
  const flags: RightsFlags = {
    preset: "sandboxed",
    expires: new Date(Date.UTC(2027, 0, 31)),
    write: ["/srv/a b", "/srv/\"'\\\n\u007f"],
    network: true,
    limit: ["max_processes=5"],
    control: ["*"],
  };
  expect(
    tokenLines("ci", DIGEST, { ...flags, runAs: "nobody" })
      .split("\n")
      .slice(0, 7),
  ).toEqual([
    "[[token]]",
    'name = "ci"',
    `sha256 = [ "${DIGEST}" ]`,
    'preset = "sandboxed"',
    'run_as = "nobody"',
    'control = [ "*" ]',
    "expires = 2027-01-31T00:00:00Z",
  ]);
  await expect(check(flags)).resolves.toBeUndefined();
  await expect(check({ preset: "sandboxed" })).resolves.toBeUndefined();
  expect(tokenLines("ci", DIGEST, { preset: "sandboxed" })).toContain('\npolicy = "read-only"\n');
});

it.each<[RightsFlags, string]>([
  [{ root: ["/etc"] }, "roots is for the preset files, not for observe"],
  [{ preset: "files" }, "the preset files needs roots"],
  [{ preset: "files", root: ["/nowhere"] }, "roots: /nowhere: No such file or directory (os error 2)"],
  [{ preset: "sandboxed", write: ["/"] }, "policy makes everything writable"],
  [{ preset: "sandboxed", policy: "read-only", network: true }, "--policy is a complete policy"],
  [{ preset: "full", policy: "read-only" }, "policy is for the preset sandboxed, not for full"],
  [{ limit: ["max_processes"] }, "--limit needs KEY=NUMBER, such as max_processes=50, not 'max_processes'"],
  [{ limit: ["max_cats=1"] }, "limits.max_cats is not one of the limits"],
  [{ control: ["ci"] }, "control is not for the preset observe"],
])("%j is refused: %s", async (flags, message) => {
  const refusal = check(flags);
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.not.toThrow(/:\d+:/);
});

it.each(["", "a b", "-a", 'a"\n[[token]]', "ä", "a".repeat(65)])("%j is no name", async (name) => {
  await expect(check({}, name)).rejects.toThrow("name must have 1 to 64 letters");
});

it("a token ends after a time, or at a moment", () => {
  const now = Date.UTC(2026, 0, 1);
  const ends = (text: string): string => parseExpiry(text, now).toISOString();
  expect(ends("30d")).toBe("2026-01-31T00:00:00.000Z");
  expect(ends("1.5h")).toBe("2026-01-01T01:30:00.000Z");
  expect(ends("2027-01-31")).toBe("2027-01-31T00:00:00.000Z");
  expect(ends("2027-01-31T12:30")).toBe("2027-01-31T12:30:00.000Z");
  expect(ends("2027-01-31T12:30:15+02:00")).toBe("2027-01-31T10:30:15.000Z");
  for (const text of [
    "",
    "30",
    "soon",
    "2027-02-30T99:00Z",
    "2027-13-01",
    "2027-02-30",
    "2027-02-29T00:00Z",
    "9999999d",
    "1e3d",
  ])
    expect(() => parseExpiry(text, now), text).toThrow("Expected a time");
  for (const text of ["0s", "2025-12-31"])
    expect(() => parseExpiry(text, now), text).toThrow("That time has passed");
});
