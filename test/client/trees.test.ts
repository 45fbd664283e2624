import { randomBytes } from "node:crypto";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import type { TreeProgress } from "../../src/client/files/trees.ts";
import { clientTargets, usingTarget } from "./client-targets.ts";

const MIB = 1024 * 1024;
let base: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-trees-")));
});

afterEach(() => rm(base, { recursive: true, force: true }));

/** Everything below a directory: kind, mode, contents. */
async function snapshot(directory: string, { modes = true } = {}): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = async (path: string): Promise<void> => {
    for (const name of await readdir(join(directory, path))) {
      const inner = path === "" ? name : `${path}/${name}`;
      const full = join(directory, inner);
      const stat = await lstat(full);
      const mode = modes ? ` ${(stat.mode & 0o7777).toString(8)}` : "";
      if (stat.isSymbolicLink()) found[inner] = `link ${await readlink(full)}`;
      else if (stat.isDirectory()) {
        found[inner] = `directory${mode}`;
        await visit(inner);
      } else found[inner] = `file${mode} ${(await readFile(full)).toString("base64")}`;
    }
  };
  await visit("");
  return found;
}

async function makeTree(directory: string, { links = true } = {}): Promise<void> {
  await mkdir(join(directory, "deep/er/empty"), { recursive: true });
  await mkdir(join(directory, "read-only"));
  await writeFile(join(directory, "empty"), "");
  await writeFile(join(directory, "script.sh"), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(join(directory, "key"), "secret", { mode: 0o600 });
  await writeFile(join(directory, "sp é \u{1f600} %41 \n"), "odd name");
  await writeFile(join(directory, "deep/er/block"), randomBytes(MIB));
  await writeFile(join(directory, "deep/er/large"), randomBytes(3 * MIB + 17));
  await writeFile(join(directory, "read-only/f"), "text", { mode: 0o444 });
  await chmod(join(directory, "read-only"), 0o555);
  if (!links) return;
  await symlink("script.sh", join(directory, "link"));
  await symlink("../..", join(directory, "deep/er/up"));
  await symlink("/no/where", join(directory, "broken"));
  await symlink("self", join(directory, "self"));
}

describe.each(clientTargets.filter(({ name }) => !name.includes("stdio")))("on $name", ({ name, start }) => {
  const isOurs = name.startsWith("our");
  let host: Host;

  usingTarget(start, (connected) => (host = connected));

  it("a tree goes there and back unchanged", async () => {
    const [here, there, back] = [join(base, "here"), join(base, "a/b/there"), join(base, "back")];
    await makeTree(here, { links: isOurs });
    const up = await host.files.uploadTree(here, there);
    expect(up).toEqual({
      files: 7,
      directories: 5,
      links: isOurs ? 4 : 0,
      bytes: 10 + 6 + 8 + MIB + 3 * MIB + 17 + 4,
      skipped: [],
    });
    const down = await host.files.downloadTree(there, back);
    expect(down).toEqual(up);
    const original = await snapshot(here, { modes: isOurs });
    expect(await snapshot(there, { modes: isOurs })).toEqual(original);
    expect(await snapshot(back, { modes: isOurs })).toEqual(original);
  });

  it("what is there is merged: files are replaced, others stay", async () => {
    const [here, there] = [join(base, "here"), join(base, "there")];
    await mkdir(join(here, "d"), { recursive: true });
    await writeFile(join(here, "d/f"), "new", { mode: 0o640 });
    await mkdir(join(there, "d"), { recursive: true });
    await chmod(join(there, "d"), 0o711);
    await writeFile(join(there, "d/f"), "old and longer");
    await writeFile(join(there, "d/other"), "stays");
    for (const copy of [
      () => host.files.uploadTree(here, there),
      () => host.files.downloadTree(here, there),
      () => host.files.downloadTree(here, `${there}/`),
    ]) {
      await copy();
      expect(await readFile(join(there, "d/f"), "utf8")).toBe("new");
      expect(await readFile(join(there, "d/other"), "utf8")).toBe("stays");
      // A directory that was there keeps its mode.
      expect((await lstat(join(there, "d"))).mode & 0o777).toBe(0o711);
      await writeFile(join(there, "d/f"), "old and longer");
    }
  });

  it("links are followed or left out on request", async () => {
    const tree = join(base, "tree");
    await mkdir(join(tree, "d"), { recursive: true });
    await writeFile(join(tree, "d/f"), "text");
    await symlink("d", join(tree, "ld"));
    await symlink("d/f", join(tree, "lf"));
    const followed = { d: "directory", "d/f": TEXT, ld: "directory", "ld/f": TEXT, lf: TEXT };
    const left = { d: "directory", "d/f": TEXT };
    for (const [copy, prefix] of [
      [host.files.uploadTree.bind(host.files), "up"],
      [host.files.downloadTree.bind(host.files), "down"],
    ] as const) {
      await copy(tree, join(base, `${prefix}-followed`), { symlinks: "follow" });
      expect(await snapshot(join(base, `${prefix}-followed`), { modes: false })).toEqual(followed);
      await copy(tree, join(base, `${prefix}-left`), { symlinks: "skip" });
      expect(await snapshot(join(base, `${prefix}-left`), { modes: false })).toEqual(left);
    }
  });

  it("a link into a directory that it is in is refused when links are followed", async () => {
    const tree = join(base, "tree");
    await mkdir(join(tree, "d/e"), { recursive: true });
    await symlink("../..", join(tree, "d/e/loop"));
    for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)])
      await expect(copy(tree, join(base, "to"), { symlinks: "follow" })).rejects.toMatchObject({
        code: "OS_ERROR",
        errno: "ELOOP",
        path: join(tree, "d/e/loop"),
      });
  });

  if (!isOurs)
    it("a link that is to be kept is refused, and named", async () => {
      const tree = join(base, "tree");
      await mkdir(tree);
      await writeFile(join(tree, "f"), "text");
      await symlink("f", join(tree, "l"));
      for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)])
        await expect(copy(tree, join(base, "to"))).rejects.toMatchObject({
          code: "UNSUPPORTED",
          path: join(tree, "l"),
          message: expect.stringContaining('symlinks: "follow"') as string,
        });
    });

  it("a filter leaves out files, and directories with all that is in them", async () => {
    const tree = join(base, "tree");
    await makeTree(tree, { links: false });
    for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)]) {
      const asked: string[] = [];
      const to = await mkdtemp(join(base, "to-"));
      await copy(tree, to, {
        filter: async ({ path, kind, size }) => {
          asked.push(path);
          if (path === "key") expect({ kind, size }).toEqual({ kind: "file", size: 6 });
          return path !== "deep" && path !== "key";
        },
      });
      expect(Object.keys(await snapshot(to)).sort()).toEqual(
        ["empty", "read-only", "read-only/f", "script.sh", "sp é \u{1f600} %41 \n"].sort(),
      );
      expect(asked.filter((path) => path.startsWith("deep/"))).toEqual([]);
    }
  });

  it("progress is reported for each thing and each block", async () => {
    const tree = join(base, "tree");
    await makeTree(tree, { links: isOurs });
    for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)]) {
      const updates: TreeProgress[] = [];
      const result = await copy(tree, await mkdtemp(join(base, "to-")), {
        onProgress: (progress) => updates.push(progress),
      });
      const { skipped: _, ...counts } = result;
      expect(updates.at(-1)).toEqual({ ...counts, path: expect.any(String) as string });
      for (const [index, progress] of updates.entries())
        expect(progress.bytes).toBeGreaterThanOrEqual(updates[index - 1]?.bytes ?? 0);
      expect(updates.filter(({ path }) => path === "deep/er/large").length).toBeGreaterThanOrEqual(4);
    }
  });

  it("an abort, or a progress function that throws, ends it and leaves no part of a file here", async () => {
    const tree = join(base, "tree");
    await mkdir(tree);
    for (let index = 0; index < 20; index += 1)
      await writeFile(join(tree, `f${index}`), randomBytes(2 * MIB + index));
    for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)]) {
      const aborting = new AbortController();
      const reason = new Error("enough");
      const onProgress = ({ bytes }: TreeProgress): void => {
        if (bytes > 3 * MIB) aborting.abort(reason);
      };
      const { signal } = aborting;
      await expect(copy(tree, join(base, "to"), { onProgress, signal })).rejects.toBe(reason);
      await expect(copy(tree, join(base, "to"), { signal })).rejects.toBe(reason);
      const throwing = (): void => {
        throw reason;
      };
      await expect(copy(tree, join(base, "to"), { onProgress: throwing })).rejects.toBe(reason);
    }
    expect((await readdir(join(base, "to"))).filter((entry) => entry.startsWith("."))).toEqual([]);
  });

  it("errors name the path, on either side", async () => {
    const tree = join(base, "tree");
    await mkdir(join(tree, "d"), { recursive: true });
    await writeFile(join(tree, "d/f"), "text");
    await writeFile(join(base, "file"), "text");
    await mkdir(join(base, "crossed/d/f"), { recursive: true });
    await mkdir(join(base, "blocked"));
    await writeFile(join(base, "blocked/d"), "a file");
    const missing = join(base, "missing");
    const upload = (from: string, to: string) => host.files.uploadTree(from, to);
    const download = (from: string, to: string) => host.files.downloadTree(from, to);
    for (const copy of [upload, download]) {
      await expect(copy(missing, join(base, "to"))).rejects.toMatchObject({
        code: "NOT_FOUND",
        path: missing,
      });
      await expect(copy(join(base, "file"), join(base, "to"))).rejects.toMatchObject({
        code: "INVALID_INPUT",
        path: join(base, "file"),
      });
      await expect(copy(tree, join(base, "crossed"))).rejects.toMatchObject({
        errno: "EISDIR",
        path: join(base, "crossed/d/f"),
      });
      await expect(copy(tree, join(base, "blocked"))).rejects.toMatchObject({
        path: join(base, "blocked/d"),
      });
    }
    expect(await readdir(join(base, "crossed/d"))).toEqual(["f"]);
    await expect(upload(tree, "relative")).rejects.toMatchObject({ code: "USAGE" });
    await expect(host.files.uploadTree(tree, "/x", { concurrency: 0 })).rejects.toMatchObject({
      code: "USAGE",
    });
  });

  it.each(["new", "there"])(
    "a copy into a directory of its own that is %s comes to an end",
    async (inner) => {
      for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)]) {
        const tree = await mkdtemp(join(base, "tree-"));
        await mkdir(join(tree, "d"));
        await writeFile(join(tree, "d/f"), "text");
        if (inner === "there") await mkdir(join(tree, inner));
        await copy(tree, join(tree, inner));
        expect(await readFile(join(tree, inner, "d/f"), "utf8")).toBe("text");
        expect((await readdir(join(tree, inner))).toSorted()).toEqual(
          inner === "new" ? ["d"] : ["d", "there"],
        );
      }
    },
  );

  it("pipes and sockets are passed over, and named", async () => {
    const tree = join(base, "tree");
    await mkdir(tree);
    execFileSync("mkfifo", [join(tree, "pipe")]);
    await writeFile(join(tree, "f"), "");
    for (const copy of [host.files.uploadTree.bind(host.files), host.files.downloadTree.bind(host.files)]) {
      const to = await mkdtemp(join(base, "to-"));
      expect(await copy(tree, to)).toMatchObject({ files: 1, skipped: ["pipe"] });
      expect(await readdir(to)).toEqual(["f"]);
    }
  });

  it("a name that is not UTF-8 is refused, and named", async () => {
    const tree = join(base, "tree");
    await mkdir(tree);
    await writeFile(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0x61, 0xff])]), "");
    await expect(host.files.uploadTree(tree, join(base, "to"))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("is not UTF-8") as string,
    });
    await expect(host.files.downloadTree(tree, join(base, "to"))).rejects.toMatchObject({
      code: "NOT_FOUND",
      path: `${tree}/a\ufffd`,
    });
  });

  it("many small files and directories arrive, each with its contents", async () => {
    const tree = join(base, "tree");
    for (let directory = 0; directory < 30; directory += 1) {
      await mkdir(join(tree, `d${directory}`), { recursive: true });
      for (let file = 0; file < 20; file += 1)
        await writeFile(join(tree, `d${directory}/f${file}`), `${directory} ${file}`);
    }
    const result = await host.files.uploadTree(tree, join(base, "up"));
    expect(result).toMatchObject({ files: 600, directories: 31 });
    await host.files.downloadTree(tree, join(base, "down"), { concurrency: 1 });
    const original = await snapshot(tree, { modes: isOurs });
    expect(await snapshot(join(base, "up"), { modes: isOurs })).toEqual(original);
    expect(await snapshot(join(base, "down"), { modes: isOurs })).toEqual(original);
  });
});

const TEXT = `file ${Buffer.from("text").toString("base64")}`;
