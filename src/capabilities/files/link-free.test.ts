import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { wanted } from "../../../test/fixtures/wanted.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { chmod } from "./chmod.ts";
import { type FileAccess, freeAccess } from "./file-access.ts";
import { FileHandles } from "./file-handles.ts";
import { createLink } from "./links.ts";
import { Location } from "./location.ts";
import { remove } from "./remove.ts";
import { rename } from "./rename.ts";
import { writeFile } from "./write-file.ts";

const FOLLOWED = { followSymlinks: true };
const TREE = { recursive: true, signal: wanted, ...FOLLOWED };

let base: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "exec-server-link-free-")));
  mkdirSync(join(base, "outside"));
  mkdirSync(join(base, "d"));
  for (const directory of ["outside", "d"]) writeFileSync(join(base, directory, "f"), "old");
  chmodSync(join(base, "outside/f"), 0o644);
  symlinkSync("outside", join(base, "link"));
  symlinkSync("../outside/f", join(base, "d/link"));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const ACCESS: readonly [string, () => FileAccess][] = [
  ["everything", () => freeAccess],
  ["roots", () => new AllowedRoots([base])],
];

describe.each(ACCESS)("a place without links, with access to %s", (_, access) => {
  const at = (path: string): Location => new Location(join(base, path), access()).withoutLinks();
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  const CHANGES: Readonly<Record<string, (directory: string) => unknown>> = {
    write: (directory) => writeFile(at(`${directory}/f`), bytes("new"), FOLLOWED),
    "write much": (directory) => writeFile(at(`${directory}/f`), bytes("new".repeat(99_999)), FOLLOWED),
    create: (directory) => writeFile(at(`${directory}/new`), bytes("new"), FOLLOWED),
    open: (directory) => new FileHandles().open("1", at(`${directory}/f`), "replace"),
    continue: (directory) =>
      new FileHandles().openPart("1", at(`${directory}/f`), { length: 0, isPrivate: true }),
    chmod: (directory) => chmod(at(`${directory}/f`), 0o600),
    link: (directory) => createLink(at(`${directory}/new`), "f", { replace: false }),
    "replace by a link": (directory) => createLink(at(`${directory}/f`), "x", { replace: true }),
    remove: (directory) => remove(at(`${directory}/f`), { ...TREE, force: true }),
    "rename from": (directory) => rename(at(`${directory}/f`), at("f")),
    "rename to": (directory) => rename(at("d/f"), at(`${directory}/f`)),
  };

  it.each(Object.entries(CHANGES))("%s: only where no directory is a link", async (_name, change) => {
    await expect((async () => change("link"))()).rejects.toThrow();
    expect(readdirSync(join(base, "outside"))).toEqual(["f"]);
    expect(readFileSync(join(base, "outside/f"), "utf8")).toBe("old");
    expect(statSync(join(base, "outside/f")).mode & 0o777).toBe(0o644);
    await expect((async () => change("d"))()).resolves.not.toThrow();
  });

  it("is written, opened and given a mode only if it is no link itself", async () => {
    const refused = [
      () => writeFile(at("d/link"), bytes("new"), FOLLOWED),
      () => new FileHandles().open("1", at("d/link"), "replace"),
      () => chmod(at("d/link"), 0o600),
    ];
    for (const change of refused) await expect((async () => change())()).rejects.toThrow();
    expect(readFileSync(join(base, "outside/f"), "utf8")).toBe("old");
    expect(statSync(join(base, "outside/f")).mode & 0o777).toBe(0o644);
  });

  it("is removed, renamed and replaced as a link", async () => {
    await rename(at("d/link"), at("d/renamed"));
    createLink(at("d/renamed"), "elsewhere", { replace: true });
    await remove(at("d/renamed"), { ...TREE, force: false });
    expect(readdirSync(join(base, "d"))).toEqual(["f"]);
    expect(readFileSync(join(base, "outside/f"), "utf8")).toBe("old");
  });

  it("stays in the directory that it was in when writing began", async () => {
    const written = writeFile(at("d/f"), bytes("new".repeat(99_999)), FOLLOWED);
    renameSync(join(base, "d"), join(base, "moved"));
    symlinkSync("outside", join(base, "d"));
    await written;
    expect(readFileSync(join(base, "outside/f"), "utf8")).toBe("old");
    expect(readFileSync(join(base, "moved/f"), "utf8")).toHaveLength(299_997);
  });
});
