import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  certainSpawnFailure,
  codeOnWire,
  ERROR_CODES,
  SPAWN_FAILURES,
  spawnFailureOnWire,
} from "./error-codes.ts";

const page = readFileSync(new URL("../../docs/guide/errors.md", import.meta.url), "utf8");

it("the guide lists every code with what the table says, and no other", () => {
  const listed = page.split("\n").filter((line) => /^\| `[A-Z_]+` \|/.test(line));
  const wanted = Object.entries(ERROR_CODES).map(
    ([code, { meaning, onWire, exitCode }]) =>
      `| \`${code}\` | ${meaning} | ${onWire ? "yes" : ""} | ${exitCode} |`,
  );
  expect(listed).toEqual(wanted);
});

it("the guide lists every reason of a failed start", () => {
  for (const [reason, meaning] of Object.entries(SPAWN_FAILURES))
    expect(page).toContain(`| \`${reason}\` | ${meaning} |`);
});

it.each([
  [{ code: "NOT_FOUND" }, "NOT_FOUND"],
  [{ code: "CONNECTION_CLOSED" }, undefined],
  [{ code: "toString" }, undefined],
  [{ code: "__proto__" }, undefined],
  [{ code: 5 }, undefined],
  ["NOT_FOUND", undefined],
  [null, undefined],
  [undefined, undefined],
])("of %j the code is %j", (data, code) => expect(codeOnWire(data)).toBe(code));

it("a reason that is not known counts as none", () => {
  expect(spawnFailureOnWire({ reason: "limit" })).toBe("limit");
  for (const data of [{ reason: "constructor" }, { reason: null }, null, undefined])
    expect(spawnFailureOnWire(data)).toBeUndefined();
});

it("only errors that can mean one thing are certain", () => {
  expect(certainSpawnFailure("EMFILE")).toBe("limit");
  expect(certainSpawnFailure("ENOENT")).toBeUndefined();
  expect(certainSpawnFailure("EACCES")).toBeUndefined();
});
