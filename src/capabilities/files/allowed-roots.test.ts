import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AllowedRoots } from "./allowed-roots.ts";

let directory: string;
let access: AllowedRoots;

beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), "allowed-roots-"));
  mkdirSync(at("root"));
  mkdirSync(at("outside/d"), { recursive: true });
  writeFileSync(at("outside/f"), "");
  symlinkSync("loop", at("outside/loop"));
  symlinkSync("none/..", at("outside/broken"));
  symlinkSync("../outside", at("root/link"));
  access = new AllowedRoots([at("root")]);
});
afterEach(() => rmSync(directory, { recursive: true }));

const at = (name: string): string => join(directory, name);

const USES: Readonly<Record<string, (path: string) => unknown>> = {
  checked: (path) => access.check(path, { followSymlinks: true }),
  "checked without links": (path) => access.check(path, { followSymlinks: false }),
  "used as an entry": (path) => access.onEntry(path, () => {}),
  used: (path) => access.onTarget(path, { followSymlinks: true }, () => {}),
  created: (path) => access.onTarget(path, { followSymlinks: true, create: true }, () => {}),
  changed: (path) => access.checkChange(path),
};

it.each(Object.entries(USES))("says the same of every path outside that is %s", (_, use) => {
  for (const name of [
    "outside",
    "outside/f",
    "outside/none",
    "outside/f/below",
    "outside/none/below",
    "outside/loop",
    "outside/loop/below",
    "outside/broken",
    "outside/broken/below",
    `outside/${"x".repeat(300)}`,
  ]) {
    expect(() => use(at(name)), name).toThrow(`path \`${at(name)}\` is outside the roots`);
  }
});

it.each(["", "/f", "/none", "/f/below", "/none/below", "/loop", "/broken", "/broken/below"])(
  "says the same of every path outside that a link leads to: link%s",
  (rest) => {
    const path = at(`root/link${rest}`);
    for (const name of ["checked", "used", "created"])
      expect(() => USES[name]!(path), name).toThrow(`path \`${path}\` is outside the roots`);
  },
);

it("says what is wrong with a path inside", () => {
  writeFileSync(at("root/f"), "");
  for (const name of ["checked", "used", "changed"])
    expect(() => USES[name]!(at("root/f/below"))).toThrow("Not a directory (os error 20)");
});

it("follows no link of /proc, which tells about the server itself", () => {
  access = new AllowedRoots(["/"]);
  symlinkSync("/proc/self/exe", at("root/exe"));
  for (const path of ["/proc/self/exe", "/proc/self/cwd/package.json", at("root/exe"), "/dev/fd/0"])
    for (const name of ["checked", "used", "created"])
      expect(() => USES[name]!(path), name).toThrow(`path \`${path}\` is outside the roots`);
});
