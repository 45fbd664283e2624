import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ownServerPaths } from "./own-server-paths.ts";

const USER = process.geteuid!();
/** A user without a directory in /tmp. */
const STRANGER = 999_999;
let runtime = "";

beforeEach(() => void (runtime = mkdtempSync(join(tmpdir(), "es-place-"))));
afterEach(() => rmSync(runtime, { recursive: true }));

it("is below the runtime directory of the user", () => {
  expect(ownServerPaths({ XDG_RUNTIME_DIR: runtime })).toEqual({
    directory: join(runtime, "exec-server"),
    exists: false,
    socket: join(runtime, "exec-server/server.sock"),
    log: join(runtime, "exec-server/server.log"),
    lock: join(runtime, "exec-server/start.lock"),
  });
  mkdirSync(join(runtime, "exec-server"), { mode: 0o700 });
  expect(ownServerPaths({ XDG_RUNTIME_DIR: runtime }).exists).toBe(true);
});

it("is in /tmp if there is no runtime directory that could hold it", () => {
  const long = join(runtime, "x".repeat(107));
  mkdirSync(long);
  symlinkSync(runtime, join(runtime, "link"));
  const unusable = [
    undefined,
    "",
    "run",
    join(runtime, "missing"),
    long,
    "/dev/null",
    "/dev/null/below",
    join(runtime, "link"),
  ];
  const found = unusable.map((path) => ownServerPaths({ XDG_RUNTIME_DIR: path }, STRANGER).directory);
  expect(found).toEqual(unusable.map(() => `/tmp/exec-server-${STRANGER}`));
});

it("is in /tmp if the runtime directory is another's, or others can write to it", () => {
  expect(ownServerPaths({ XDG_RUNTIME_DIR: runtime }, STRANGER).directory).toBe(
    `/tmp/exec-server-${STRANGER}`,
  );
  chmodSync(runtime, 0o770);
  expect(ownServerPaths({ XDG_RUNTIME_DIR: runtime }, USER).directory).toBe(`/tmp/exec-server-${USER}`);
});
