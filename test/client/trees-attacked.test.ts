import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import type { TreeEntry, TreeProgress } from "../../src/client/files/trees.ts";
import type { Host } from "../../src/client/host/host.ts";
import { createServer, type Server } from "../../src/server/index.ts";
import { startServer } from "../fault/server-under-test.ts";
import { inTime } from "./fake-hosts.ts";
import { Relay } from "./relay.ts";
import { connect } from "./served.ts";

// What happens to a tree while it is copied, and what else is wrong with it.

const MIB = 1024 * 1024;
const NOBODY = 65_534;
const OPERATIONS = ["uploadTree", "downloadTree"] as const;

let base: string;
let from: string;
let to: string;
let outside: string;
let server: Server;
let host: Host;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-attacked-")));
  [from, to, outside] = [join(base, "from"), join(base, "to"), join(base, "outside")];
  for (const directory of [from, outside]) await mkdir(directory);
  await writeFile(join(outside, "secret"), "secret");
  server = createServer();
  host = await connect(server);
});

afterEach(async () => {
  await host.close();
  await server.close();
  await rm(base, { recursive: true, force: true });
});

describe("a tree that another program changes while it is uploaded", () => {
  const replacedBy =
    (replace: (path: string) => void) =>
    ({ path }: TreeEntry): boolean => {
      const local = join(from, path);
      renameSync(local, join(base, `moved-${path}`));
      replace(local);
      return true;
    };

  it("does not hang at files that became pipes", async () => {
    // More than Node has threads for files.
    for (let index = 0; index < 6; index += 1) await writeFile(join(from, `f${index}`), "text");
    const filter = replacedBy((path) => execFileSync("mkfifo", [path]));
    await expect(inTime(host.files.uploadTree(from, to, { filter }), "the end")).rejects.toMatchObject({
      name: "FileError",
      path: expect.stringContaining(from) as string,
      message: expect.stringContaining("is no longer a regular file") as string,
    });
    expect(await readdir(to)).toEqual([]);
  });

  it("sends nothing that a link leads to, in the place of a file", async () => {
    await writeFile(join(from, "f"), "text");
    await writeFile(join(from, "large"), randomBytes(2 * MIB));
    const filter = replacedBy((path) => symlinkSync(join(outside, "secret"), path));
    await expect(host.files.uploadTree(from, to, { filter })).rejects.toMatchObject({ errno: "ELOOP" });
    expect(await readdir(to)).toEqual([]);
  });

  it("sends nothing that a link leads to, in the place of a directory", async () => {
    await mkdir(join(from, "d"));
    const filter = replacedBy((path) => symlinkSync(outside, path));
    await expect(host.files.uploadTree(from, to, { filter })).rejects.toMatchObject({
      path: join(from, "d"),
    });
    await rm(to, { recursive: true });
    // After it was listed, and before its files are read.
    rmSync(join(from, "d"));
    await mkdir(join(from, "d"));
    await writeFile(join(from, "d/secret"), "mine");
    const swapped = ({ path }: TreeEntry): boolean => {
      if (path !== "d/secret") return true;
      renameSync(join(from, "d"), join(base, "moved-again"));
      symlinkSync(outside, join(from, "d"));
      return true;
    };
    await expect(host.files.uploadTree(from, to, { filter: swapped })).rejects.toMatchObject({
      path: join(from, "d/secret"),
    });
    expect(await readdir(join(to, "d"))).toEqual([]);
  });

  it("takes a small file that has become large, as far as it is then", async () => {
    await writeFile(join(from, "log"), "first line\n");
    const more = randomBytes(5 * MIB);
    const filter = ({ path }: TreeEntry): boolean => {
      appendFileSync(join(from, path), more);
      return true;
    };
    const result = await host.files.uploadTree(from, to, { filter });
    expect(result).toMatchObject({ files: 1, bytes: 11 + 5 * MIB });
    expect((await readFile(join(to, "log"))).equals(await readFile(join(from, "log")))).toBe(true);
  });
});

describe("a directory that another program replaces by a link while it is filled", () => {
  const swap = (path: string): void => {
    renameSync(join(to, path), join(base, "moved"));
    symlinkSync(outside, join(to, path));
  };

  it.each([
    ["files", "f", "text"],
    ["large files", "f", randomBytes(2 * MIB)],
  ])("gets no %s written through the link", async (_, name, content) => {
    await mkdir(join(from, "d"));
    await writeFile(join(from, "d", name), content);
    const onProgress = ({ path }: TreeProgress): void => {
      if (path === "d") swap("d");
    };
    await expect(host.files.downloadTree(from, to, { onProgress })).rejects.toMatchObject({
      path: join(to, "d", name),
      message: expect.stringContaining("was replaced in the meantime") as string,
    });
    expect(await readdir(outside)).toEqual(["secret"]);
  });

  it("gets no links, directories and modes through the link", async () => {
    const mode = (await stat(outside)).mode;
    for (const make of [
      (path: string) => symlinkSync("target", path),
      (path: string) => mkdirSync(path),
      () => {},
    ]) {
      await rm(from, { recursive: true });
      await rm(to, { recursive: true, force: true });
      await rm(join(base, "moved"), { recursive: true, force: true });
      await mkdir(join(from, "d"), { recursive: true });
      make(join(from, "d/x"));
      execFileSync("chmod", ["500", join(from, "d")]);
      const onProgress = ({ path }: TreeProgress): void => {
        if (path === "d") swap("d");
      };
      await expect(host.files.downloadTree(from, to, { onProgress })).rejects.toMatchObject({
        name: "FileError",
      });
      expect((await readdir(outside)).filter((name) => name !== "x")).toEqual(["secret"]);
      expect((await stat(outside)).mode).toBe(mode);
    }
  });

  it("and one that becomes a file is an error that names the file", async () => {
    for (const name of ["a", "b", "c"]) await writeFile(join(from, name), name);
    const onProgress = ({ path }: TreeProgress): void => {
      if (path !== "a") return;
      rmSync(to, { recursive: true });
      writeFileSync(to, "");
    };
    const copying = host.files.downloadTree(from, to, { onProgress, concurrency: 1 });
    await expect(copying).rejects.toMatchObject({ name: "FileError", errno: "ENOTDIR" });
  });
});

describe.each(OPERATIONS)("%s", (operation) => {
  const copy = (source: unknown, target: unknown) =>
    inTime(host.files[operation](source as string, target as string), operation);

  it.each([["a\0b"], ["/tmp/a\0b"], [undefined], [null], [5], [pathToFileURL("/tmp")]])(
    "%o as a path is the caller's mistake",
    async (path) => {
      await writeFile(join(from, "f"), "text");
      await expect(copy(path, to)).rejects.toMatchObject({ code: "USAGE" });
      await expect(copy(from, path)).rejects.toMatchObject({ code: "USAGE" });
    },
  );

  it("keeps others out of a directory that is private, before there is anything in it", async () => {
    await mkdir(join(from, "sub"), { mode: 0o711 });
    await mkdir(join(from, "open"), { mode: 0o755 });
    await writeFile(join(from, "f"), "text");
    await writeFile(join(from, "sub/f"), "text");
    execFileSync("chmod", ["700", from]);
    const seen = new Set<string>();
    const onProgress = (): void => {
      for (const name of ["", "sub"]) {
        const mode = statSync(join(to, name), { throwIfNoEntry: false })?.mode;
        if (mode !== undefined) seen.add(`${name} ${(mode & 0o077).toString(8)}`);
      }
    };
    await host.files[operation](from, to, { onProgress, concurrency: 1 });
    expect([...seen].toSorted()).toEqual([" 0", "sub 0"]);
    expect((await stat(join(to, "sub"))).mode & 0o777).toBe(0o711);
    expect((await stat(join(to, "open"))).mode & 0o777).toBe(0o755);
  });

  it("leaves whole files, and reports ENOSPC, when the disk is full", async () => {
    for (let index = 0; index < 10; index += 1)
      await writeFile(join(from, `f${index}`), Buffer.alloc(700_000, index));
    await mkdir(to);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "none", to]);
    try {
      await expect(copy(from, to)).rejects.toMatchObject({ code: "OS_ERROR", errno: "ENOSPC" });
      const sizes = await Promise.all(
        (await readdir(to)).map(async (name) => (await stat(join(to, name))).size),
      );
      expect(new Set(sizes)).toEqual(new Set([700_000]));
    } finally {
      // The server may still finish what it had begun.
      execFileSync("umount", ["--lazy", to]);
    }
  });

  it("twice at once into one place gives one whole tree", async () => {
    await mkdir(join(from, "d"));
    for (let index = 0; index < 100; index += 1)
      await writeFile(join(from, `d/f${index}`), "x".repeat(index));
    symlinkSync("d", join(from, "l"));
    await Promise.all([copy(from, to), copy(from, to), copy(from, to)]);
    execFileSync("diff", ["-r", "--no-dereference", from, to]);
    expect(await readdir(to)).toEqual(["d", "l"]);
  });
});

it("a download into the tree itself does not copy its own unfinished files", async () => {
  await mkdir(join(from, "d"));
  await writeFile(join(from, "d/large"), randomBytes(12 * MIB));
  await mkdir(join(from, "to/d"), { recursive: true });
  const copied: string[] = [];
  const begun = createDeferred<void>();
  const onProgress = ({ path }: TreeProgress): void => {
    copied.push(path);
    if (path === "d/large") begun.resolve();
  };
  const filter = async ({ path }: TreeEntry): Promise<boolean> => {
    if (path === "to/d") await begun.promise;
    return true;
  };
  await inTime(host.files.downloadTree(from, join(from, "to"), { onProgress, filter }), "the download");
  expect(copied).toContain("to/d");
  expect(copied.filter((path) => path.includes(".exec-server"))).toEqual([]);
  expect(await readdir(join(from, "to/d"))).toEqual(["large"]);
});

it("a server that is not root takes files that may only be read, again and after a lost connection", async () => {
  await using other = await startServer({ codex: false, user: NOBODY });
  await using relay = await Relay.open(other.port);
  execFileSync("chown", [`${NOBODY}`, base]);
  await writeFile(join(from, "small"), "text", { mode: 0o444 });
  await writeFile(join(from, "large"), randomBytes(6 * MIB), { mode: 0o444 });
  const unprivileged = await connect(relay.url);
  try {
    let cut = false;
    const onProgress = ({ bytes }: TreeProgress): void => {
      if (cut || bytes < 3 * MIB) return;
      cut = true;
      relay.cut();
    };
    await inTime(unprivileged.files.uploadTree(from, to, { onProgress }), "the upload");
    expect(cut).toBe(true);
    await writeFile(join(from, "small"), "changed");
    await inTime(unprivileged.files.uploadTree(from, to), "the second upload");
    for (const name of ["small", "large"]) {
      expect((await readFile(join(to, name))).equals(await readFile(join(from, name)))).toBe(true);
      expect((await stat(join(to, name))).mode & 0o777).toBe(0o444);
    }
    // Without a mode, the permissions of the file stand.
    await expect(unprivileged.files.write(join(to, "small"), "x")).rejects.toMatchObject({
      code: "PERMISSION_DENIED",
    });
  } finally {
    await unprivileged.close();
  }
});
