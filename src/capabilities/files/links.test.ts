import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { createLink, readLink } from "./links.ts";
import { ownLocation, Location } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  writeFileSync(at("f"), "");
  mkdirSync(at("d"));
});
const at = (name: string): string => join(directory, name);

it("creates a link to any text, and reads it", () => {
  for (const target of ["f", "nowhere/../at all", "/", "ä"]) {
    createLink(ownLocation(at("link")), target, { replace: true });
    expect(readlinkSync(at("link"))).toBe(target);
    expect(readLink(ownLocation(at("link")))).toBe(target);
  }
  expect(readdirSync(directory)).toEqual(["d", "f", "link"]);
});

it("replaces only on request, and no directory", () => {
  const create = (name: string, replace: boolean): void =>
    createLink(ownLocation(at(name)), "target", { replace });
  for (const name of ["f", "d"]) expect(() => create(name, false), name).toThrow("EEXIST");
  expect(lstatSync(at("f")).isFile()).toBe(true);
  create("new", false);
  expect(readlinkSync(at("new"))).toBe("target");
  create("f", true);
  expect(readlinkSync(at("f"))).toBe("target");
  expect(() => create("d", true)).toThrow("EISDIR");
  expect(readdirSync(directory)).toEqual(["d", "f", "new"]);
});

it("refuses what no link can hold, and what is no link", () => {
  expect(() => createLink(ownLocation(at("link")), "a\0b", { replace: false })).toThrow(
    "cannot contain a NUL",
  );
  expect(() => readLink(ownLocation(at("f")))).toThrow("EINVAL");
  symlinkSync(Buffer.from("\xff", "latin1"), at("bytes"));
  expect(() => readLink(ownLocation(at("bytes")))).toThrow("the target of the link is not UTF-8");
});

it("replaces no root", () => {
  const access = new AllowedRoots([at("d")]);
  const location = (name: string): Location => new Location(at(name), access);
  expect(() => createLink(location("d"), "target", { replace: true })).toThrow("is a root of this server");
  createLink(location("d/link"), "/", { replace: true });
  expect(readLink(location("d/link"))).toBe("/");
  expect(() => createLink(location("link"), "/", { replace: false })).toThrow("outside the roots");
});
