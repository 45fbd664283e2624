import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { wanted } from "../../../test/fixtures/wanted.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { freeAccess } from "./file-access.ts";
import { Location } from "./location.ts";
import { remove } from "./remove.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("d/e"), { recursive: true });
  writeFileSync(at("d/f"), "");
  writeFileSync(at("d/e/f"), "");
  symlinkSync("../outside", at("d/link"));
  writeFileSync(Buffer.from(`${at("d")}/\xff`, "latin1"), "");
  mkdirSync(at("outside"));
  writeFileSync(at("outside/kept"), "");
});
const at = (name: string): string => join(directory, name);

const removed = (
  name: string,
  { recursive = false, force = false, followSymlinks = true, access = freeAccess, signal = wanted } = {},
): Promise<void> => remove(new Location(at(name), access), { recursive, force, followSymlinks, signal });

it("removes a file, a link itself, and an empty directory", async () => {
  for (const name of ["d/f", "d/link", "d/e/f", "d/e"]) await removed(name);
  expect(readdirSync(at("d"), { encoding: "latin1" })).toEqual(["\xff"]);
  expect(readdirSync(at("outside"))).toEqual(["kept"]);
});

it.each([
  ["free", () => freeAccess],
  ["confined", () => new AllowedRoots([directory])],
])("removes a tree on request, and nothing that its links lead to: %s access", async (_, accessOf) => {
  await expect(removed("d", { access: accessOf() })).rejects.toMatchObject({ errno: "ENOTEMPTY" });
  expect(existsSync(at("d/e/f"))).toBe(true);
  await removed("d", { recursive: true, access: accessOf() });
  expect(readdirSync(directory)).toEqual(["outside"]);
  expect(readdirSync(at("outside"))).toEqual(["kept"]);
  expect(openAround(directory)).toEqual([]);
});

it("is satisfied with a missing path only if asked to", async () => {
  for (const recursive of [false, true]) {
    await expect(removed("none", { recursive })).rejects.toMatchObject({ errno: "ENOENT" });
    await removed("none", { recursive, force: true });
    await removed("none/below", { recursive, force: true });
  }
  await expect(removed("d/f/below", { force: true })).rejects.toMatchObject({ errno: "ENOTDIR" });
  await expect(removed("d", { force: true })).rejects.toMatchObject({ errno: "ENOTEMPTY" });
});

it("removes no link, and nothing behind one, if links are not followed", async () => {
  const followSymlinks = false;
  await removed("d/f", { followSymlinks });
  expect(existsSync(at("d/f"))).toBe(false);
  await expect(removed("d/link", { followSymlinks })).rejects.toThrow("path contains a symbolic link");
  await expect(removed("d/link/kept", { followSymlinks })).rejects.toThrow("Not a directory");
  await expect(removed("d", { followSymlinks, recursive: true })).rejects.toThrow(
    "no-follow removal is unsupported",
  );
  await removed("none", { followSymlinks, force: true });
  expect(lstatSync(at("d/link")).isSymbolicLink()).toBe(true);
});

it("removes no root, and nothing outside", async () => {
  const access = new AllowedRoots([at("d")]);
  await expect(removed("d", { recursive: true, access })).rejects.toThrow("is a root of this server");
  await expect(removed("d/link/kept", { access })).rejects.toThrow("outside the roots");
  await expect(removed("none", { force: true, access })).rejects.toThrow("outside the roots");
  expect(existsSync(at("d/e/f"))).toBe(true);
});

it("stops when it is no longer wanted, and closes what it has open", async () => {
  await expect(removed("d", { recursive: true, signal: AbortSignal.abort() })).rejects.toThrow(
    "the client is gone",
  );
  expect(existsSync(at("d/e/f"))).toBe(true);
  expect(openAround(directory)).toEqual([]);
  // What takes one step is done.
  await removed("d/f", { signal: AbortSignal.abort() });
  expect(existsSync(at("d/f"))).toBe(false);
});
