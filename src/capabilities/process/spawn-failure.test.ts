import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CapabilityError } from "../../base/errors.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { spawnFailed } from "./spawn-failure.ts";

function makeDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "spawn-failure-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const reasonOf = async (errno: number, cwd: string | Uint8Array): Promise<unknown> => {
  const error = osError(errno);
  const failure = await spawnFailed(error, cwd);
  expect(failure).toMatchObject({ code: "SPAWN_FAILED", message: error.message, errno: error.errno });
  return (failure as CapabilityError).reason;
};

it("a missing path is that of the program if the directory is there", async () => {
  const cwd = makeDirectory();
  const file = join(cwd, "file");
  writeFileSync(file, "");
  for (const errno of [ERRNO.ENOENT, ERRNO.ENOTDIR]) {
    expect(await reasonOf(errno, cwd)).toBe("notFound");
    expect(await reasonOf(errno, Buffer.from(cwd))).toBe("notFound");
    expect(await reasonOf(errno, join(cwd, "missing"))).toBe("noSuchDirectory");
    expect(await reasonOf(errno, file)).toBe("noSuchDirectory");
  }
});

it("a refusal is that of the program if the directory may be entered", async () => {
  const cwd = makeDirectory();
  const file = join(cwd, "file");
  writeFileSync(file, "");
  // Not executable, not even for root.
  chmodSync(file, 0o600);
  expect(await reasonOf(ERRNO.EACCES, cwd)).toBe("notExecutable");
  expect(await reasonOf(ERRNO.EACCES, file)).toBeUndefined();
});

it("errors that are not the system's stay as they are", async () => {
  const errors = [new Error("another"), new CapabilityError("INVALID_INPUT", "an empty name")];
  for (const error of errors) expect(await spawnFailed(error, "/")).toBe(error);
});
