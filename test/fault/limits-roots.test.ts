import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RawPeer } from "../conformance/raw-peer.ts";
import { RpcFailure } from "../conformance/raw-peer.ts";
import { pollUntil } from "./deadline.ts";
import { base64, limitedCli, limitedServer, type LimitedServer, start } from "./limited-server.ts";
import { exchangeNames } from "./name-exchange.ts";
import { openDescriptors } from "./proc-fs.ts";

const SECRET = "secret of somebody else";
const RACES = 480;
const IN_FLIGHT = 16;
const DEADLINE_MS = 60_000;
const WALK = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: true };

let base: string;
let root: string;
let outside: string;
let server: LimitedServer;
let peer: RawPeer;

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "exec-server-roots-")));
  root = join(base, "root");
  outside = join(base, "outside");
  mkdirSync(join(root, "d"), { recursive: true });
  mkdirSync(join(outside, "d"), { recursive: true });
  writeFileSync(join(root, "f"), "mine");
  writeFileSync(join(root, "d/g"), "deep");
  writeFileSync(join(outside, "f"), SECRET);
  writeFileSync(join(outside, "d/g"), SECRET);
  server = limitedServer({ fsRoots: [root] });
  peer = await server.session();
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

/** Every method that takes a path, with that path in each place it takes one. */
function requests(path: string): [method: string, params: Record<string, unknown>][] {
  return [
    ["fs/readFile", { path }],
    ["fs/readFile", { path, followSymlinks: false }],
    ["fs/open", { handleId: "r", path }],
    ["fs/open", { handleId: "w", path, mode: "replace" }],
    ["fs/writeFile", { path, dataBase64: base64("x") }],
    ["fs/writeFile", { path, dataBase64: base64("x"), followSymlinks: false }],
    ["fs/createDirectory", { path }],
    ["fs/createDirectory", { path, recursive: false }],
    ["fs/createDirectory", { path, followSymlinks: false }],
    ["fs/getMetadata", { path }],
    ["fs/getMetadata", { path, followSymlinks: false }],
    ["fs/canonicalize", { path }],
    ["fs/readDirectory", { path }],
    ["fs/walk", { path, options: WALK }],
    ["fs/copy", { sourcePath: join(root, "f"), destinationPath: path, recursive: true }],
    ["fs/copy", { sourcePath: join(root, "d"), destinationPath: path, recursive: true }],
    ["fs/watchMissing", { watchId: 1, missing: [path] }],
    ["fs/watchMissing", { watchId: 1, missing: [join(root, "new")], present: path }],
  ];
}

/** Those that do not follow a link at the end of the path. */
function entryRequests(path: string): [method: string, params: Record<string, unknown>][] {
  return [
    ["fs/remove", { path }],
    ["fs/remove", { path, recursive: false, followSymlinks: false }],
    ["fs/copy", { sourcePath: path, destinationPath: join(root, "copy"), recursive: true }],
  ];
}

async function failureOf(method: string, params: object): Promise<RpcFailure> {
  const failure: unknown = await peer.request(method, params).then(
    (result) => new Error(`${method} ${JSON.stringify(params)} answered ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );
  if (failure instanceof RpcFailure) return failure;
  throw failure;
}

async function expectOutside(method: string, params: object, path: string): Promise<void> {
  const { code, message, data } = await failureOf(method, params);
  expect({ code, message, data }, method).toEqual({
    code: -32600,
    message: `path \`${path}\` is outside the roots that this server serves (fsRoots)`,
    data: { code: "PERMISSION_DENIED" },
  });
}

function expectUntouched(): void {
  expect(readdirSync(outside).toSorted()).toEqual(["d", "f"]);
  expect(readdirSync(join(outside, "d"))).toEqual(["g"]);
  for (const name of ["f", "d/g"]) expect(readFileSync(join(outside, name), "utf8")).toBe(SECRET);
}

describe("with fsRoots", () => {
  it("everything works inside", async () => {
    const on = (method: string, name: string, more: object = {}) =>
      peer.request(method, { path: join(root, name), ...more });
    expect(await on("fs/readFile", "f")).toEqual({ dataBase64: base64("mine") });
    await on("fs/writeFile", "f", { dataBase64: base64("new") });
    expect(readFileSync(join(root, "f"), "utf8")).toBe("new");
    await on("fs/createDirectory", "a/b/c");
    await on("fs/writeFile", "a/b/c/file", { dataBase64: base64("deep") });
    expect(await on("fs/getMetadata", "a/b/c/file")).toMatchObject({
      isFile: true,
      isSymlink: false,
      size: 4,
    });
    await on("fs/open", "a/opened", { handleId: "w", mode: "replace" });
    await peer.request("fs/writeBlock", { handleId: "w", offset: 0, chunk: base64("block") });
    await peer.request("fs/close", { handleId: "w" });
    await on("fs/open", "a/opened", { handleId: "r" });
    expect(await peer.request("fs/readBlock", { handleId: "r", offset: 0, len: 9 })).toEqual({
      chunk: base64("block"),
      eof: true,
    });
    await peer.request("fs/copy", {
      sourcePath: join(root, "a"),
      destinationPath: join(root, "copied"),
      recursive: true,
    });
    expect(readFileSync(join(root, "copied/b/c/file"), "utf8")).toBe("deep");
    const { entries } = await on("fs/readDirectory", "");
    expect(entries.map(({ fileName }: { fileName: string }) => fileName).toSorted()).toEqual(
      "a copied d f".split(" "),
    );
    const walked = await on("fs/walk", "a", { options: WALK });
    expect(walked.entries.map(({ path }: { path: string }) => path)).toEqual(
      ["b", "opened", "b/c", "b/c/file"].map((name) => `file://${root}/a/${name}`),
    );
    expect(await on("fs/canonicalize", "a/../f")).toEqual({ path: `file://${root}/f` });
    await on("fs/remove", "a");
    expect(existsSync(join(root, "a"))).toBe(false);
    expect(await peer.request("fs/watchMissing", { watchId: 1, missing: [join(root, "new")] })).toEqual({
      watching: true,
    });
    expect(await failureOf("fs/readFile", { path: join(root, "missing") })).toMatchObject({ code: -32004 });
    expect(await failureOf("fs/readFile", { path: join(root, "f/x") })).toMatchObject({ code: -32603 });
  });

  it("every method refuses what is outside, there or not", async () => {
    const paths = [
      "/",
      base,
      outside,
      join(outside, "f"),
      join(outside, "missing"),
      `${root}2`,
      "/etc/passwd",
    ];
    for (const path of paths) {
      for (const [method, params] of [...requests(path), ...entryRequests(path)])
        await expectOutside(method, params, path);
    }
    await expectOutside("fs/readFile", { path: `file://${outside}/f` }, join(outside, "f"));
    await expectOutside("fs/readFile", { path: `${root}/../outside/f` }, join(outside, "f"));
    for (const path of [`file://${root}/d%2F..%2F..%2Foutside%2Ff`, `file://${root}%2F..%2Foutside/f`])
      for (const [method, params] of [...requests(path), ...entryRequests(path)])
        await expectOutside(method, params, join(outside, "f"));
    expectUntouched();
  });

  it("no link leads outside: absolute, relative, in a chain, on the way or to nothing", async () => {
    symlinkSync(outside, join(root, "absolute"));
    symlinkSync("../outside", join(root, "relative"));
    symlinkSync("relative/d", join(root, "chain"));
    symlinkSync("d/../../outside", join(root, "dots"));
    symlinkSync(join(outside, "f"), join(root, "file"));
    symlinkSync(join(outside, "missing"), join(root, "nothing"));
    symlinkSync("/proc/self/root/etc/passwd", join(root, "magic"));
    const names = ["absolute", "relative", "chain", "dots", "file", "nothing", "magic"];
    const below = ["absolute/f", "relative/f", "relative/new/er", "chain/g", "dots/d/g", "nothing/x"];
    for (const name of [...names, ...below]) {
      const path = join(root, name);
      const noFollow = ({ followSymlinks }: Record<string, unknown>) => followSymlinks === false;
      for (const [method, params] of requests(path)) {
        // Those refuse any link, wherever it leads.
        if (noFollow(params)) expect(await failureOf(method, params), method).toBeDefined();
        else await expectOutside(method, params, path);
      }
    }
    for (const name of below) {
      const path = join(root, name);
      for (const [method, params] of entryRequests(path)) await expectOutside(method, params, path);
    }
    expectUntouched();
    // A link itself is inside.
    for (const name of names) {
      await peer.request("fs/copy", {
        sourcePath: join(root, name),
        destinationPath: join(root, `copy of ${name}`),
        recursive: true,
      });
      await peer.request("fs/remove", { path: join(root, name) });
      expect(existsSync(join(root, name))).toBe(false);
      expect(lstatSync(join(root, `copy of ${name}`)).isSymbolicLink()).toBe(true);
    }
    expectUntouched();
  });

  it("links that stay inside are followed", async () => {
    symlinkSync("d", join(root, "l"));
    symlinkSync(join(root, "f"), join(root, "lf"));
    symlinkSync("d/../../root/d/g", join(root, "round"));
    symlinkSync("created", join(root, "to nothing"));
    const read = async (name: string) =>
      Buffer.from(
        (await peer.request("fs/readFile", { path: join(root, name) })).dataBase64,
        "base64",
      ).toString();
    expect(await Promise.all(["l/g", "lf", "round"].map(read))).toEqual(["deep", "mine", "deep"]);
    expect(await peer.request("fs/getMetadata", { path: join(root, "lf") })).toMatchObject({
      isSymlink: true,
      isFile: true,
      size: 4,
    });
    await peer.request("fs/writeFile", { path: join(root, "to nothing"), dataBase64: base64("made") });
    expect(readFileSync(join(root, "created"), "utf8")).toBe("made");
    expect(await peer.request("fs/canonicalize", { path: join(root, "round") })).toEqual({
      path: `file://${root}/d/g`,
    });
    symlinkSync("loop", join(root, "loop"));
    expect((await failureOf("fs/readFile", { path: join(root, "loop") })).message).toMatch(
      /^Symbolic link loop/,
    );
  });

  it("a root may be named through a link", async () => {
    symlinkSync(root, join(base, "way in"));
    await using other = limitedServer({ fsRoots: [join(base, "way in")] });
    const session = await other.session();
    for (const way of [root, join(base, "way in")])
      expect(await session.request("fs/readFile", { path: join(way, "f") })).toEqual({
        dataBase64: base64("mine"),
      });
  });

  it("listings leave out links that lead outside", async () => {
    symlinkSync(outside, join(root, "d/out"));
    symlinkSync("../f", join(root, "d/in"));
    symlinkSync("..", join(root, "d/up"));
    const { entries } = await peer.request("fs/readDirectory", { path: join(root, "d") });
    expect(entries.map(({ fileName }: { fileName: string }) => fileName).toSorted()).toEqual([
      "g",
      "in",
      "up",
    ]);
    const walked = await peer.request("fs/walk", { path: root, options: WALK });
    expect(JSON.stringify(walked)).not.toContain("out");
    expect(walked).toMatchObject({ errors: [], truncated: false });
  });

  it("a copy does not go through links of its destination", async () => {
    mkdirSync(join(root, "source/sub"), { recursive: true });
    writeFileSync(join(root, "source/f"), "copied");
    writeFileSync(join(root, "source/sub/g"), "copied");
    for (const [name, target] of [
      ["f", join(outside, "f")],
      ["f", join(outside, "new")],
      ["sub", join(outside, "d")],
      ["sub/g", join(outside, "d/g")],
    ] as const) {
      rmSync(join(root, "target"), { recursive: true, force: true });
      mkdirSync(join(root, "target", name === "sub/g" ? "sub" : ""), { recursive: true });
      symlinkSync(target, join(root, "target", name));
      const copy = {
        sourcePath: join(root, "source"),
        destinationPath: join(root, "target"),
        recursive: true,
      };
      await expectOutside("fs/copy", copy, join(root, "target", name));
    }
    expectUntouched();
  });

  it("a directory is not copied into itself through a link to nothing", async () => {
    symlinkSync("d/new", join(root, "way"));
    const copy = { sourcePath: join(root, "d"), destinationPath: join(root, "way"), recursive: true };
    expect((await failureOf("fs/copy", copy)).message).toBe(
      "fs/copy cannot copy a directory to itself or one of its descendants",
    );
    expect(readdirSync(join(root, "d"))).toEqual(["g"]);
  });

  it("a root itself can be neither removed nor renamed nor replaced, nor one within another", async () => {
    await using other = limitedServer({ fsRoots: [root, join(root, "d")] });
    const session = await other.session();
    for (const path of [root, join(root, "d")])
      await expect(session.request("fs/remove", { path })).rejects.toMatchObject({
        code: -32600,
        message: `path \`${path}\` is a root of this server and cannot be removed or changed`,
      });
    await session.request("fs/remove", { path: join(root, "d/g") });
    mkdirSync(join(root, "empty"));
    for (const [from, to] of [
      ["d", "moved"],
      ["empty", "d"],
    ] as const)
      await expect(
        session.request("fs/rename", { from: join(root, from), to: join(root, to) }),
      ).rejects.toMatchObject({ code: -32600 });
    expect(readdirSync(root).toSorted()).toEqual(["d", "empty", "f"]);
  });

  it("processes are not confined", async () => {
    const script = `cat ${join(outside, "f")}`;
    await peer.request("process/start", start("p", script, { cwd: `file://${outside}` }));
    const { params } = await peer.nextNotification("process/output", "p");
    expect(Buffer.from(params.chunk, "base64").toString()).toBe(SECRET);
  });

  it("an exchange of a directory or file with a link to the outside is never outrun, and leaves nothing open", async () => {
    await using cli = await limitedCli(["--fs-roots", root]);
    const session = await cli.session();
    mkdirSync(join(root, "x"));
    writeFileSync(join(root, "x/f"), "mine");
    writeFileSync(join(root, "y"), "mine");
    symlinkSync(outside, join(root, "x link"));
    symlinkSync(join(outside, "f"), join(root, "y link"));
    await session.request("fs/readFile", { path: join(root, "f") });
    const before = openDescriptors(cli.pid).length;
    await using _directories = await exchangeNames(join(root, "x"), join(root, "x link"));
    await using _files = await exchangeNames(join(root, "y"), join(root, "y link"));
    let [served, refused] = [0, 0];
    const ask = async (method: string, params: object): Promise<void> => {
      const { result, error } = await session.call(method, params);
      if (error !== undefined) refused += 1;
      else served += 1;
      expect(JSON.stringify(result ?? {})).not.toContain(base64(SECRET));
    };
    const round = (path: string, index: number): Promise<void>[] => [
      ask("fs/readFile", { path }),
      ask("fs/writeFile", { path, dataBase64: base64("mine") }),
      ask("fs/open", { handleId: `${index}`, path, mode: index % 2 ? "replace" : "read" }),
      ask("fs/readBlock", { handleId: `${index}`, offset: 0, len: 100 }),
      ask("fs/close", { handleId: `${index}` }),
      ask("fs/copy", { sourcePath: join(root, "f"), destinationPath: path, recursive: false }),
      ask("fs/copy", { sourcePath: path, destinationPath: join(root, "copy"), recursive: false }),
      ask("fs/remove", { path: join(root, "copy") }),
      ask("fs/remove", { path: join(root, "x/f") }),
      ask("fs/remove", { path: join(root, "x/d") }),
      ask("fs/createDirectory", { path: join(root, `x/new${index % 4}`) }),
      ask("fs/remove", { path: join(root, `x/new${index % 4}`) }),
    ];
    for (let index = 0; index < RACES; index += IN_FLIGHT)
      await Promise.all(
        Array.from({ length: IN_FLIGHT }, (_, offset) =>
          round(join(root, offset % 2 ? "x/f" : "y"), index + offset),
        ).flat(),
      );
    expectUntouched();
    expect(served).toBeGreaterThan(RACES / 10);
    expect(refused).toBeGreaterThan(RACES / 10);
    await pollUntil(
      () => openDescriptors(cli.pid).length === before,
      DEADLINE_MS,
      () => `${before} descriptors instead of ${openDescriptors(cli.pid).join(", ")}`,
    );
  });
});
