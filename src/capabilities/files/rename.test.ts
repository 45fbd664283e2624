import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { ownLocation, Location } from "./location.ts";
import { rename } from "./rename.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("root/inner"), { recursive: true });
  writeFileSync(at("root/f"), "contents");
  symlinkSync("f", at("root/link"));
});
const at = (name: string): string => join(directory, name);

it("renames an entry over another one, and a link itself", async () => {
  writeFileSync(at("root/old"), "");
  await rename(ownLocation(at("root/f")), ownLocation(at("root/old")));
  expect(readFileSync(at("root/old"), "utf8")).toBe("contents");
  await rename(ownLocation(at("root/link")), ownLocation(at("root/inner/link")));
  expect(lstatSync(at("root/inner/link")).isSymbolicLink()).toBe(true);
  expect(readdirSync(at("root"))).toEqual(["inner", "old"]);
});

it("renames within roots, but neither a root nor over one", async () => {
  mkdirSync(at("root/empty"));
  const access = new AllowedRoots([at("root"), at("root/inner")]);
  const location = (name: string): Location => new Location(at(name), access);
  await rename(location("root/f"), location("root/inner/f"));
  expect(readdirSync(at("root/inner"))).toEqual(["f"]);
  for (const [from, to] of [
    ["root/inner", "root/moved"],
    ["root/empty", "root/inner"],
  ] as const)
    await expect(rename(location(from), location(to)), from).rejects.toThrow("is a root of this server");
  for (const [from, to] of [
    ["root/link", "link"],
    ["none", "root/none"],
  ] as const)
    await expect(rename(location(from), location(to)), from).rejects.toThrow("outside the roots");
  expect(readdirSync(at("root"))).toEqual(["empty", "inner", "link"]);
});
