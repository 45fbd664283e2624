import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { FileView } from "../view/file-view.ts";
import { pinBinds, ViewChangedError } from "./pinned-paths.ts";

const directory = realpathSync(mkdtempSync(join(tmpdir(), "pinned-")));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("refuses a path that has become a link or is gone, and closes what it has opened", () => {
  mkdirSync(join(directory, "kept"), { recursive: true });
  mkdirSync(join(directory, "outer/root"), { recursive: true });
  const view: FileView = {
    root: "readOnly",
    mounts: ["kept", "outer/root"].map((name) => ({
      kind: "writable" as const,
      path: join(directory, name),
    })),
  };
  const pinned = pinBinds(view);
  expect(pinned.map(({ path }) => path)).toEqual(view.mounts.map(({ path }) => path));
  for (const { fd } of pinned) closeSync(fd);
  renameSync(join(directory, "outer"), join(directory, "moved"));
  symlinkSync("moved", join(directory, "outer"));
  const open = readdirSync("/proc/self/fd").length;
  expect(() => pinBinds(view)).toThrow("was replaced while the sandbox was prepared");
  rmSync(join(directory, "outer"));
  expect(() => pinBinds(view)).toThrow(ViewChangedError);
  expect(() => pinBinds(view)).toThrow("outer/root was removed while the sandbox was prepared");
  expect(readdirSync("/proc/self/fd").length).toBe(open);
});
