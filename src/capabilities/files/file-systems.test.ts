import { closeSync, openSync, statfsSync } from "node:fs";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { fileSystemOf, isOfKernel, isSilent, PROC } from "./file-systems.ts";

function typeOf(path: string): number {
  const fd = openSync(path, "r");
  try {
    return fileSystemOf(fd);
  } finally {
    closeSync(fd);
  }
}

it("is known by what is open", () => {
  const directory = temporaryDirectory();
  for (const path of ["/proc/self/status", "/sys", "/dev/null", directory])
    expect([path, typeOf(path)]).toEqual([path, statfsSync(path).type]);
  expect(typeOf("/proc")).toBe(PROC);
  expect(() => fileSystemOf(-1)).toThrow("Bad file descriptor");
});

it("is the kernel's, or holds data", () => {
  for (const path of ["/proc", "/sys"]) expect(isOfKernel(typeOf(path))).toBe(true);
  expect(isOfKernel(typeOf(temporaryDirectory()))).toBe(false);
});

it("reports changes, unless the kernel makes its files up", () => {
  for (const path of ["/proc", "/sys", "/dev/pts"]) expect(isSilent(path)).toBe(true);
  expect(isSilent(temporaryDirectory())).toBe(false);
});
