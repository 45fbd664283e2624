import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { readMetadata } from "./metadata.ts";
import { ownLocation, Location } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  writeFileSync(at("f"), "12345");
  chmodSync(at("f"), 0o4640);
  utimesSync(at("f"), 0, 1_700_000_000.75);
  mkdirSync(at("d"));
  symlinkSync("f", at("link"));
});

const at = (name: string): string => join(directory, name);
const FILE = { isDirectory: false, isFile: true, size: 5, modifiedAtMs: 1_700_000_000_750, mode: 0o4640 };

it.each([
  ["free", ownLocation],
  ["confined", (path: string) => new Location(path, new AllowedRoots([directory]))],
])("describes a file, a directory, and what a link leads to: %s access", (_, locate) => {
  const followed = { followSymlinks: true };
  expect(readMetadata(locate(at("f")), followed)).toEqual({ ...FILE, isSymlink: false });
  expect(readMetadata(locate(at("link")), followed)).toEqual({ ...FILE, isSymlink: true });
  expect(readMetadata(locate(at("d")), followed)).toMatchObject({ isDirectory: true, isFile: false });
  const notFollowed = { followSymlinks: false };
  expect(readMetadata(locate(at("f")), notFollowed)).toEqual({ ...FILE, isSymlink: false });
  expect(() => readMetadata(locate(at("link")), notFollowed)).toThrow("path contains a symbolic link");
  expect(() => readMetadata(locate(at("none")), notFollowed)).toThrow("os error 2");
});
