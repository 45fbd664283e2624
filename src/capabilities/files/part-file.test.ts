import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { makeFifo } from "../../../test/fault/file-nodes.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { openPartFile } from "./file-handles.ts";
import { ownLocation } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
const at = (name: string): string => join(directory, name);

/** Opens a part file, and appends to it. */
function grow(name: string, length: number, isPrivate = false): void {
  const fd = openPartFile(ownLocation(at(name)), { length, isPrivate });
  writeSync(fd, "+", length);
  closeSync(fd);
}

it("keeps the first bytes of a file, and creates it if there is none", () => {
  grow("f", 0);
  expect(readFileSync(at("f"), "utf8")).toBe("+");
  writeFileSync(at("f"), "0123456789");
  grow("f", 4);
  expect(readFileSync(at("f"), "utf8")).toBe("0123+");
  grow("f", 5);
  expect(readFileSync(at("f"), "utf8")).toBe("0123++");
});

it("is readable for its owner alone if it is private, even if it was not before", () => {
  writeFileSync(at("old"), "");
  chmodSync(at("old"), 0o644);
  for (const name of ["new", "old"]) {
    grow(name, 0, true);
    expect(statSync(at(name)).mode & 0o777).toBe(0o600);
  }
  chmodSync(at("old"), 0o640);
  grow("old", 0);
  expect(statSync(at("old")).mode & 0o777).toBe(0o640);
});

it("refuses a file that is shorter than what shall be kept", () => {
  writeFileSync(at("f"), "0123");
  expect(() => grow("f", 5)).toThrow(`\`${at("f")}\` has 4 bytes, fewer than the 5 to keep`);
  expect(readFileSync(at("f"), "utf8")).toBe("0123");
  expect(openAround(directory)).toEqual([]);
});

it("refuses whatever someone else may have put there", () => {
  writeFileSync(at("f"), "contents");
  symlinkSync("f", at("link"));
  symlinkSync("none", at("broken"));
  makeFifo(at("pipe"));
  for (const name of ["link", "broken"]) expect(() => grow(name, 0), name).toThrow("ELOOP");
  expect(() => grow("pipe", 0)).toThrow("ENXIO");
  linkSync(at("f"), at("second"));
  expect(() => grow("f", 0)).toThrow("is not exclusively this user's file, so it is not resumed");
  expect(readFileSync(at("f"), "utf8")).toBe("contents");
  expect(openAround(directory)).toEqual([]);
});

it.runIf(process.geteuid?.() === 0)("refuses a file of another user", () => {
  writeFileSync(at("f"), "contents");
  chownSync(at("f"), 1, 1);
  expect(() => grow("f", 0)).toThrow("is not exclusively this user's file");
  expect(readFileSync(at("f"), "utf8")).toBe("contents");
});

it("refuses a pipe, though somebody reads from it", async () => {
  makeFifo(at("pipe"));
  const { open } = await import("node:fs/promises");
  const reader = await open(at("pipe"), 0o4000);
  try {
    expect(() => grow("pipe", 0)).toThrow("is not exclusively this user's file");
  } finally {
    await reader.close();
  }
});
