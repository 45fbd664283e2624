import { lstatSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { claimOwnServerDirectory } from "./claim-own-server-directory.ts";

/** A user that does not exist, so that the directory is unused. */
const STRANGER = 1_900_000_000 + process.pid;
const PLACE = `/tmp/exec-server-${STRANGER}`;

afterEach(() => rmSync(PLACE, { recursive: true, force: true }));

it("the place is made for its user alone", () => {
  const user = process.geteuid!();
  expect(claimOwnServerDirectory(user)).toBe(`/tmp/exec-server-${user}`);
  claimOwnServerDirectory(STRANGER);
  const made = lstatSync(PLACE);
  expect([made.isDirectory(), made.mode & 0o777]).toEqual([true, 0o700]);
});

it("what is another user's is left alone", () => {
  mkdirSync(PLACE);
  expect(claimOwnServerDirectory(STRANGER)).toBeUndefined();
  rmSync(PLACE, { recursive: true });
  symlinkSync("/var", PLACE);
  expect(claimOwnServerDirectory(STRANGER)).toBeUndefined();
});
