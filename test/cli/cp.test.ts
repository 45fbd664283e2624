import { createHash, randomBytes } from "node:crypto";
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
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { UnfinishedTree } from "../../src/cli/client/copying/unfinished-tree.ts";
import { Relay } from "../client/relay.ts";
import { type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { cutEvery } from "../fixtures/cut-every.ts";
import { type CommandOptions, runCommand, startCommand } from "./command.ts";

const MIB = 1024 * 1024;
/** Of base64, and of everything around it. */
const WIRE_FACTOR = 4 / 3;

let server: ServerUnderTest;
let base: string;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-cp-")));
  await mkdir(join(base, "from"));
});

afterEach(() => rm(base, { recursive: true, force: true, maxRetries: 5 }));

const through = (url: string): CommandOptions => ({ cwd: base, env: { EXEC_SERVER_URL: url } });
const cp = (...args: string[]) => runCommand(["cp", ...args], through(server.url));
const succeeds = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await cp(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
};
const fails = async (message: string, ...args: string[]): Promise<void> =>
  expect(await cp(...args)).toMatchObject({ status: 1, stdout: "", stderr: `exec-server: ${message}\n` });
const at = (...names: string[]): string => join(base, ...names);
const remote = (...names: string[]): string => `:${at(...names)}`;
const digest = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** A line for each entry below a directory, with its mode, and its contents or where it leads. */
async function describeTree(directory: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of await readdir(directory, { recursive: true })) {
    const path = join(directory, name);
    const { mode } = await lstat(path);
    const stats = await lstat(path);
    const contents = stats.isSymbolicLink() ? await readlink(path) : stats.isFile() ? await digest(path) : "";
    lines.push(`${JSON.stringify(name)} ${(mode & 0o7777).toString(8)} ${contents}`);
  }
  return lines.toSorted();
}

async function makeTree(
  directory: string,
  { files, bytes }: { files: number; bytes: number },
): Promise<void> {
  for (let index = 0; index < files; index += 1) {
    const parent = join(directory, `d${index % 10}`);
    await mkdir(parent, { recursive: true });
    await writeFile(join(parent, `f${index}`), randomBytes(bytes), { mode: index % 2 === 0 ? 0o644 : 0o600 });
  }
}

describe("cp", () => {
  it("copies files and trees there, back and on the server, with modes and links", async () => {
    await makeTree(at("from"), { files: 30, bytes: 100 });
    await writeFile(at("from/large"), randomBytes(3 * MIB), { mode: 0o400 });
    await symlink("../d1", at("from/d0/link"));
    await chmod(at("from/d2"), 0o700);
    const tree = await describeTree(at("from"));
    await succeeds("from", remote("there"));
    expect(await describeTree(at("there"))).toEqual(tree);
    await succeeds(remote("there"), "back");
    expect(await describeTree(at("back"))).toEqual(tree);
    await succeeds("-r", remote("back"), remote("again"));
    expect(await describeTree(at("again"))).toEqual(tree);
    expect((await readdir(base)).toSorted()).toEqual(["again", "back", "from", "there"]);
  });

  it("goes into a directory that exists, and names the copy otherwise", async () => {
    await writeFile(at("from/a"), "a");
    await writeFile(at("from/b"), "b");
    await mkdir(at("to"));
    await succeeds("from/a", remote("to"));
    await succeeds("from/a", `${remote("to")}/`);
    await succeeds("from/a", remote("to/named"));
    await succeeds("from", remote("to"));
    await succeeds("from/", remote("to/inner"));
    await succeeds("from/.", remote("to/from"));
    await succeeds(remote("from/a"), remote("from/b"), "to/inner");
    expect((await readdir(at("to"), { recursive: true })).toSorted()).toEqual(
      ["a", "from", "from/a", "from/b", "inner", "inner/a", "inner/b", "named"].toSorted(),
    );
    await succeeds(remote("from/b"), "to/named");
    expect(await readFile(at("to/named"), "utf8")).toBe("b");
  });

  it("refuses what is ambiguous or wrong with one line", async () => {
    await writeFile(at("from/a"), "a");
    await writeFile(at("file"), "file");
    const to = remote("to");
    await fails(
      `${to}/: no such directory; create it first, or leave out the slash to name the copy`,
      "from/a",
      `${to}/`,
    );
    await fails(`${to}: no such directory; create it first`, "from", `${to}/deep`);
    await fails(
      `${remote("file")}: not a directory; remove it first, or choose another name`,
      "from",
      remote("file"),
    );
    await fails("none: no such file or directory", "none", to);
    await fails(`${remote("none")}: no such file or directory`, remote("none"), "here");
    await fails(`${to}: several sources need a directory that exists; create it first`, "from/a", "file", to);
    await mkdir(at("to/a"), { recursive: true });
    await fails(`${remote("to/a")}: is a directory`, "from/a", to);
    for (const [args, message] of [
      [
        ["a", "b"],
        "both paths are on this machine; write :PATH for one on the server, or HOST:PATH for one on a host",
      ],
      [["a"], "cp needs a source and a destination; see 'exec-server cp --help'"],
      [["", ":x"], "a path is empty; write . for this directory"],
    ] as const)
      expect(await cp(...args)).toMatchObject({ status: 2, stderr: `exec-server: ${message}\n` });
    expect(await readdir(at("to/a"))).toEqual([]);
  });

  it("copies what it can, names the rest, and says so in its status and its summary", async () => {
    await makeTree(at("from"), { files: 3, bytes: 10 });
    await mkdir(at("to/d1/f1"), { recursive: true });
    const { status, stdout, stderr } = await cp("--json", "from/.", remote("to"));
    expect(status).toBe(1);
    expect(stderr).toBe(`exec-server: ${remote("to/d1/f1")}: is a directory\n`);
    expect(JSON.parse(stdout)).toMatchObject({
      files: 2,
      directories: 4,
      bytes: 20,
      keptBytes: 0,
      verified: true,
      skipped: [],
      failed: [{ path: remote("to/d1/f1") }],
    });
  });

  it("copies the rest if a name is not UTF-8", async () => {
    await writeFile(at("from/good"), "good");
    await writeFile(Buffer.concat([Buffer.from(at("from/")), Buffer.from([0xff])]), "");
    const { status, stderr } = await cp("from", remote("to"));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^exec-server: .*is not UTF-8\n$/);
    expect(await readdir(at("to"))).toEqual(["good"]);
  });

  it("refuses to copy a directory into itself", async () => {
    await mkdir(at("from/sub"));
    await writeFile(at("from/file"), "x");
    await fails(
      `${remote("from/sub/new")} is inside from: a directory cannot be copied into itself`,
      "from",
      remote("from/sub/new"),
    );
    // Into a directory that exists, and one that has such a copy.
    await fails(
      `${remote("from/sub")} is inside from: a directory cannot be copied into itself`,
      "from",
      remote("from/sub"),
    );
    await mkdir(at("from/sub/from"));
    await fails(
      `${remote("from/sub")} is inside from: a directory cannot be copied into itself`,
      "from",
      remote("from/sub"),
    );
    await fails(
      `${remote("from")} is inside from/.: a directory cannot be copied into itself`,
      "from/.",
      remote("from"),
    );
    expect(await readdir(at("from"), { recursive: true })).toEqual(["file", "sub", "sub/from"]);
    expect(await readdir(base)).toEqual(["from"]);
  });

  it("ends if a link that is followed leads to the copy", async () => {
    await writeFile(at("from/file"), "x");
    await symlink("..", at("from/up"));
    for (const destination of ["to", "to", "from/up"]) {
      const { status, stderr } = await cp("-L", "from", remote(destination));
      expect({ status, isClear: stderr.includes("a directory cannot be copied into itself") }).toEqual({
        status: 1,
        isClear: true,
      });
    }
    expect((await readdir(base)).toSorted()).toEqual(["from", "to"]);
    const names = await readdir(at("to"), { recursive: true });
    expect(names.filter((name) => name.split("/").length > 5 || name.includes("part"))).toEqual([]);
  });

  it("leaves no mark if nothing was copied, and copies no mark of another copy", async () => {
    await mkdir(at("from/.exec-server-part-0123456789abcdef-0123456789abcdef"));
    await writeFile(at("from/.exec-server-part-of-mine"), "mine");
    expect((await cp("from", remote("to"))).status).toBe(0);
    expect(await readdir(at("to"))).toEqual([".exec-server-part-of-mine"]);
    await mkdir(at("unreadable"), { mode: 0 });
    await chmod(base, 0o777);
    const someone = { through: ["setpriv", "--reuid", "54321", "--clear-groups"] };
    await using open = await startServer({ args: ["--allow-local-users"] });
    expect(
      await runCommand(["cp", "unreadable", remote("new")], { ...through(open.url), ...someone }),
    ).toMatchObject({
      status: 1,
      stderr: `exec-server: ${at("unreadable")}: permission denied\n`,
    });
    expect((await readdir(base)).toSorted()).toEqual(["from", "to", "unreadable"]);
  });

  it("makes nothing where a planted link in place of its mark leads", async () => {
    await writeFile(at("from/file"), "x");
    const place = { files: undefined, prefix: "", text: "", typed: "" };
    const source = { ...place, path: at("from") };
    const { name } = UnfinishedTree.beside({ ...place, path: at("to") }, source);
    await symlink(at("planted"), at(name));
    const { status } = await cp("from", remote("to"));
    expect(status).toBe(1);
    await expect(lstat(at("planted"))).rejects.toThrow("ENOENT");
  });

  it("is not led astray by names and links", async () => {
    const names = ["a\nb", "...", " ", "-rf", "*", "c:d", "\u001b[31m", "..\\x", "é"];
    for (const name of names) await writeFile(at("from", name), name);
    await mkdir(at("outside"));
    await writeFile(at("outside/f"), "untouched");
    await symlink(at("outside"), at("from/out"));
    await symlink("../../../../etc", at("from/up"));
    await succeeds("from", remote("there"));
    await succeeds(remote("there"), "back");
    expect(await describeTree(at("back"))).toEqual(await describeTree(at("from")));
    // What was a link in the first copy is a directory now, here and there.
    await rm(at("from/out"));
    await mkdir(at("from/out"));
    await writeFile(at("from/out/f"), "through the link");
    await fails(
      `${remote("there/out")}: it is a symbolic link, which is not followed`,
      "from/.",
      remote("there"),
    );
    await rm(at("there/out"));
    await mkdir(at("there/out"));
    await writeFile(at("there/out/f"), "through the link");
    await fails(
      "back/out: it is a symbolic link, which is not followed".replace("back", at("back")),
      `${remote("there")}/.`,
      "back",
    );
    await writeFile(at("from/x"), "new");
    await symlink(at("outside/f"), at("there/x"));
    await rm(at("there/out"), { recursive: true });
    await succeeds("from/.", remote("there"));
    expect((await lstat(at("there/x"))).isFile()).toBe(true);
    expect(await readFile(at("outside/f"), "utf8")).toBe("untouched");
    expect(await readdir(at("outside"))).toEqual(["f"]);
  });
});

describe("an interrupted cp", () => {
  const LARGE = 32 * MIB;
  /** Blocks that were asked for, and what sockets hold. */
  const UNDER_WAY = 10 * MIB;
  const cases = [
    ["a large file", "there", () => writeFile(at("from/large"), randomBytes(LARGE)), "from/large", LARGE],
    ["a tree", "there", () => makeTree(at("from"), { files: 400, bytes: 100_000 }), "from", 400 * 100_000],
    ["a large file", "back", () => writeFile(at("from/large"), randomBytes(LARGE)), "from/large", LARGE],
    ["a tree", "back", () => makeTree(at("from"), { files: 400, bytes: 100_000 }), "from", 400 * 100_000],
  ] as const;

  it.each(cases)(
    "that was killed half-way with %s %s is continued by the same command",
    async (_, way, make, name, bytes) => {
      await make();
      await using relay = await Relay.open(server.port);
      const args = way === "there" ? ["cp", name, remote("to")] : ["cp", remote(name), "to"];
      const killed = startCommand(args, through(relay.url));
      relay.onBytes = (passed) => {
        if (passed >= (bytes * WIRE_FACTOR) / 2) killed.child.kill("SIGKILL");
      };
      expect((await killed.ended()).signal).toBe("SIGKILL");
      relay.onBytes = undefined;
      relay.bytes = 0;
      expect(await runCommand(args, through(relay.url))).toMatchObject({ status: 0, stderr: "" });
      // What was under way when it was killed is lost; of a gigabyte that is next to nothing.
      expect(relay.bytes / WIRE_FACTOR).toBeLessThan(bytes / 2 + UNDER_WAY);
      if (name === "from") expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
      else expect(await digest(at("to"))).toBe(await digest(at(name)));
      if (way === "there") expect((await readdir(base)).toSorted()).toEqual(["from", "to"]);
    },
  );

  it("continues by itself when only its connection was cut", async () => {
    await writeFile(at("from/large"), randomBytes(LARGE));
    await makeTree(at("from"), { files: 50, bytes: 1000 });
    await using relay = await Relay.open(server.port);
    const cuts = cutEvery(relay, 8 * MIB, 2);
    const { status, stderr } = await runCommand(["cp", "from", remote("to")], through(relay.url));
    expect({ status, stderr, cuts: cuts() }).toEqual({ status: 0, stderr: "", cuts: 2 });
    expect(relay.bytes).toBeLessThan(LARGE * WIRE_FACTOR * 1.6);
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
  });

  it("says how to continue after SIGINT, and after the server has gone", async () => {
    await writeFile(at("from/large"), randomBytes(LARGE));
    await using relay = await Relay.open(server.port);
    const interrupted = startCommand(["cp", "from", remote("to")], through(relay.url));
    relay.onBytes = (passed) => {
      if (passed < 8 * MIB) return;
      relay.onBytes = undefined;
      interrupted.child.kill("SIGINT");
    };
    expect(await interrupted.ended()).toMatchObject({
      signal: "SIGINT",
      stderr: "exec-server: interrupted; run the same command again to continue\n",
    });
    // A session ends with its server.
    await using other = await startServer();
    relay.bytes = 0;
    relay.onBytes = (passed) => {
      if (passed < 8 * MIB) return;
      relay.onBytes = undefined;
      relay.port = other.port;
      relay.cut();
    };
    const { status, stderr } = await runCommand(["cp", "from", remote("to")], through(relay.url));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^exec-server: .*; run the same command again to continue\n$/);
    await succeeds("from", remote("to"));
    expect(await digest(at("to/large"))).toBe(await digest(at("from/large")));
    expect((await readdir(base)).toSorted()).toEqual(["from", "to"]);
    expect((await stat(at("to"))).isDirectory()).toBe(true);
  });
});
