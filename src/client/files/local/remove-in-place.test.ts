import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeInPlace } from "./remove-in-place.ts";

let base: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-remove-")));
  await mkdir(join(base, "tree/inner"), { recursive: true });
  await mkdir(join(base, "outside"));
  await writeFile(join(base, "outside/file"), "untouched");
  await writeFile(join(base, "tree/inner/file"), "");
  await writeFile(Buffer.concat([Buffer.from(`${base}/tree/`), Buffer.from([0xff])]), "");
  await symlink("../outside", join(base, "tree/link"));
});

afterEach(() => rm(base, { recursive: true, force: true }));

it("removes a tree with its links, and not what they lead to", async () => {
  await removeInPlace(join(base, "tree"), "with contents");
  expect(await readdir(base)).toEqual(["outside"]);
  expect(await readdir(join(base, "outside"))).toEqual(["file"]);
  await removeInPlace(join(base, "tree"), "with contents");
  await removeInPlace(join(base, "none"), "file");
});

it("removes nothing through a link that has taken the place of a directory", async () => {
  await rm(join(base, "tree"), { recursive: true });
  await symlink("outside", join(base, "tree"));
  for (const what of ["file", "with contents", "if empty"] as const)
    await expect(removeInPlace(join(base, "tree/file"), what)).rejects.toThrow();
  expect(await readdir(join(base, "outside"))).toEqual(["file"]);
  await removeInPlace(join(base, "tree"), "with contents");
  expect(await readdir(base)).toEqual(["outside"]);
});

it("keeps a directory that is not empty, unless its contents are meant", async () => {
  await expect(removeInPlace(join(base, "outside"), "if empty")).rejects.toThrow("ENOTEMPTY");
  await rm(join(base, "outside/file"));
  await removeInPlace(join(base, "outside"), "if empty");
  expect(await readdir(base)).toEqual(["tree"]);
});
