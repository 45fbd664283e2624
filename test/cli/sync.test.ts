import { execFileSync } from "node:child_process";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { pollUntil } from "../fault/deadline.ts";
import { type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { cutEvery } from "../fixtures/cut-every.ts";
import { type CommandOptions, type Ended, runCommand, type RunningCommand, startCommand } from "./command.ts";

let server: ServerUnderTest;
let base: string;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-sync-")));
  await mkdir(at("from"));
});

afterEach(() => rm(base, { recursive: true, force: true, maxRetries: 5 }));

const at = (...names: string[]): string => join(base, ...names);
const remote = (...names: string[]): string => `:${at(...names)}`;
const through = (url: string): CommandOptions => ({ cwd: base, env: { EXEC_SERVER_URL: url } });
const sync = (...args: string[]): Promise<Ended> => runCommand(["sync", ...args], through(server.url));
const succeeds = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await sync(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
};
const fails = async (status: number, message: string, ...args: string[]): Promise<void> =>
  expect(await sync(...args)).toMatchObject({ status, stdout: "", stderr: `exec-server: ${message}\n` });

/** Makes files, and the directories that they are in. */
async function make(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, contents] of Object.entries(files)) {
    await mkdir(join(directory, name, ".."), { recursive: true });
    await writeFile(join(directory, name), contents);
  }
}

/** Creates or replaces a file atomically. */
async function put(path: string, contents: string): Promise<void> {
  await writeFile(at("unfinished"), contents);
  await rename(at("unfinished"), path);
}

/** A line for each entry below a directory, with its mode, and its contents or where it leads. */
async function describeTree(directory: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of await readdir(directory, { recursive: true })) {
    const path = join(directory, name);
    const stats = await lstat(path);
    const contents = stats.isSymbolicLink()
      ? await readlink(path)
      : stats.isFile()
        ? await readFile(path, "utf8")
        : "";
    lines.push(`${JSON.stringify(name)} ${(stats.mode & 0o7777).toString(8)} ${contents}`);
  }
  return lines.toSorted();
}

describe("sync", () => {
  it("makes a directory like another there, back and on the server, and reports what it did", async () => {
    await make(at("from"), { a: "one", "d/b": "two", "a\nb": "three" });
    await symlink("../a", at("from/d/link"));
    await chmod(at("from/d"), 0o700);
    const tree = await describeTree(at("from"));
    expect(await succeeds("from", remote("deep/there"))).toMatch(
      /^3 files copied, 1 link, 0 the same, 11 B in \d+s\n$/,
    );
    expect(await describeTree(at("deep/there"))).toEqual(tree);
    await succeeds(`${remote("deep/there")}/`, "back/");
    expect(await describeTree(at("back"))).toEqual(tree);
    await succeeds(remote("back"), remote("again"));
    expect(await describeTree(at("again"))).toEqual(tree);
    await make(at("from"), { a: "ONE" });
    await make(at("deep/there"), { old: "x" });
    expect(await succeeds("--delete", "from", remote("deep/there"))).toMatch(
      /^1 file copied, 1 deleted, 3 the same, 3 B in \d+s\n$/,
    );
    expect(await describeTree(at("deep/there"))).toEqual(await describeTree(at("from")));
    expect(await succeeds("-q", "from", remote("deep/there"))).toBe("");
    expect(JSON.parse(await succeeds("--json", "from", remote("deep/there")))).toMatchObject({
      files: 0,
      directories: 0,
      links: 0,
      modes: 0,
      same: 4,
      deleted: 0,
      bytes: 0,
      skipped: [],
      failed: [],
    });
  });

  it("lists in a dry run what it would do", async () => {
    await make(at("from"), { a: "1", "new/b": "1", "\u001b[31m": "1" });
    await make(at("to"), { a: "0", "old/x": "0" });
    const before = await describeTree(at("to"));
    const expected = ["copy   \\x1b[31m", "copy   a", "create new/", "copy   new/b", "delete old/"];
    const shown = await succeeds("-n", "--delete", "from", remote("to"));
    expect(shown).toMatch(/\ndry run: 3 files copied, 1 deleted, 0 the same, 3 B in \d+s\n$/);
    expect(shown.split("\n").slice(0, -2)).toEqual(expected);
    expect(JSON.parse(await succeeds("-n", "--json", "from", remote("to")))).toMatchObject({
      dryRun: true,
      changes: [{}, { action: "copy", path: "a", kind: "file", bytes: 1 }, { action: "create" }, {}],
    });
    expect(await describeTree(at("to"))).toEqual(before);
  });

  it("leaves out what patterns and .gitignore files name, on both sides and in both directions", async () => {
    await make(at("from"), {
      ".git/config": "",
      ".gitignore": "*.log\n/build/\n",
      "a.log": "",
      "build/out": "",
      "d/.gitignore": "!keep.log\nsecret\n",
      "d/keep.log": "",
      "d/other.log": "",
      "d/secret": "",
      "d/build/out": "",
      "e/tmp": "",
      "e/Tmp": "",
    });
    const there = [
      ".gitignore",
      "d",
      "d/.gitignore",
      "d/build",
      "d/build/out",
      "d/keep.log",
      "e",
      "e/Tmp",
      "old.log",
    ];
    await make(at("to"), { "old.log": "", old: "" });
    await succeeds("--gitignore", "--exclude", "tmp", "--delete", "from", remote("to"));
    expect((await readdir(at("to"), { recursive: true })).toSorted()).toEqual(there.toSorted());
    await make(at("back"), { "old.log": "", old: "" });
    await succeeds("--gitignore", "--exclude", "tmp", "--delete", remote("from"), "back");
    expect((await readdir(at("back"), { recursive: true })).toSorted()).toEqual(there.toSorted());
  });

  it("does not wait for a .gitignore that is a pipe", async () => {
    await make(at("from"), { a: "1" });
    execFileSync("mkfifo", [at("from/.gitignore")]);
    const { status } = await sync("--gitignore", "from", remote("to"));
    expect({ status, names: await readdir(at("to")) }).toEqual({ status: 1, names: ["a"] });
  });

  it("refuses what cannot be meant with one line", async () => {
    await make(at("from"), { file: "x" });
    await make(at("to"), { precious: "x" });
    await mkdir(at("empty"));
    const to = remote("to");
    await fails(
      1,
      `empty is empty: --delete would delete everything in ${to}; add --force if you mean it`,
      "--delete",
      "empty",
      to,
    );
    await fails(
      1,
      `${remote("empty")} is empty: --delete would delete everything in to; add --force if you mean it`,
      "--delete",
      remote("empty"),
      "to",
    );
    await fails(1, "none: no such file or directory", "--delete", "none", to);
    await fails(1, `${remote("none")}: no such file or directory`, "--delete", remote("none"), "to");
    await fails(1, "from/file: it is not a directory; 'exec-server cp' copies single files", "from/file", to);
    await fails(1, `${remote("from/file")}: it is not a directory`, "to", remote("from/file"));
    await fails(2, "--force has a meaning only with --delete", "--force", "from", to);
    await fails(
      2,
      "both paths are on this machine; write :PATH for one on the server, or HOST:PATH for one on a host",
      "from",
      "to",
    );
    await fails(2, "missing required argument 'dst'; see 'exec-server sync --help'", "from");
    expect(await readdir(at("to"))).toEqual(["precious"]);
    await succeeds("--delete", "--force", "empty", to);
    expect(await readdir(at("to"))).toEqual([]);
  });

  it("refuses directories that are in each other, also through links", async () => {
    await make(at("from"), { "sub/file": "x" });
    await symlink(at("from"), at("link"));
    const because = "a directory cannot be synced with one in it";
    await fails(1, `${remote("from/sub/new")} is inside from: ${because}`, "from", remote("from/sub/new"));
    await fails(1, `${remote("link/new")} is inside from: ${because}`, "-n", "from", remote("link/new"));
    await fails(1, `from is inside ${remote()}: ${because}`, "--delete", "from", remote());
    await fails(1, `${remote("from")} is inside .: ${because}`, "--delete", remote("from"), ".");
    await fails(1, `from and ${remote("link")} are the same directory`, "from", remote("link"));
    expect(await readdir(at("from"), { recursive: true })).toEqual(["sub", "sub/file"]);
  });

  it("copies what it can, names the rest, and deletes nothing where it could not look", async () => {
    await make(at("from"), { a: "1", secret: "1", "closed/inner": "1", kind: "1" });
    await make(at("to"), { secret: "0", "closed/inner": "0", "closed/more": "0", "kind/precious": "0" });
    await chmod(at("from/secret"), 0);
    await chmod(at("from/closed"), 0);
    await chmod(base, 0o755);
    const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    await using open = await startServer({ args: ["--allow-local-users"] });
    const options = { ...through(open.url), through: nobody };
    const { status, stdout, stderr } = await runCommand(["sync", "--json", "from", remote("to")], options);
    expect(status).toBe(1);
    expect(stderr.split("\n").toSorted()).toEqual([
      "",
      `exec-server: ${at("from/closed")}: permission denied`,
      `exec-server: ${at("from/secret")}: permission denied`,
      `exec-server: ${remote("to/kind")}: a non-empty directory is in its place; --delete would replace it`,
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ files: 1, failed: [{}, {}, {}] });
    await runCommand(["sync", "--delete", "from", remote("to")], options);
    expect((await readdir(at("to"), { recursive: true })).toSorted()).toEqual(
      ["a", "closed", "closed/inner", "closed/more", "kind", "secret"].toSorted(),
    );
    expect(await readFile(at("to/secret"), "utf8")).toBe("0");
  });

  it("continues by itself when its connection is cut", async () => {
    for (let index = 0; index < 300; index += 1)
      await make(at("from"), { [`d${index % 7}/f${index}`]: "x".repeat(20_000) });
    await make(at("to"), { old: "x" });
    await using relay = await Relay.open(server.port);
    const cuts = cutEvery(relay, 2_000_000, 2);
    const args = ["sync", "--delete", "from", remote("to")];
    const { status, stderr } = await runCommand(args, through(relay.url));
    expect({ status, stderr, cuts: cuts() }).toEqual({ status: 0, stderr: "", cuts: 2 });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
  });
});

describe("sync --watch", () => {
  /** Starts it, and waits for the end of the first pass. */
  const watching = async (args: readonly string[], url = server.url): Promise<RunningCommand> => {
    const command = startCommand(["sync", "--watch", ...args], through(url));
    await command.shows("; watching ");
    return command;
  };
  const becomesLike = async (source: string, destination: string): Promise<void> => {
    const isLike = async (): Promise<boolean> =>
      isDeepStrictEqual(await seen(source), await seen(destination));
    await pollUntil(isLike, 90_000, () => `${destination} to be like ${source}`);
  };
  /** What is there may be changed while it is looked at. */
  const seen = (directory: string): Promise<unknown> =>
    describeTree(directory).catch(() => ({ isChanging: directory }));
  const ends = async (command: RunningCommand, signal: NodeJS.Signals = "SIGINT"): Promise<string> => {
    command.child.kill(signal);
    const { status, stdout, stderr } = await command.ended();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout;
  };

  it.each([
    ["there", () => ["from", remote("to")]],
    ["back", () => [remote("from"), "to"]],
  ])("carries over what changes, %s, and tells it", async (_, places) => {
    await make(at("from"), { a: "1", "d/b": "1", "node_modules/x": "1" });
    const command = await watching(["--delete", "--exclude", "node_modules", ...places()]);
    await rm(at("from/node_modules"), { recursive: true });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    // As editors save.
    await make(at("from"), { "d/.b.swp": "4444", "d/b": "333" });
    await rename(at("from/d/.b.swp"), at("from/d/b"));
    await becomesLike(at("from"), at("to"));
    // What takes one step is one change, whatever the machine does meanwhile.
    await put(at("from/d/b"), "22");
    await command.shows(" copied, 2 B: d/b\n");
    await becomesLike(at("from"), at("to"));
    await rename(at("from/d"), at("from/moved\n"));
    await becomesLike(at("from"), at("to"));
    await command.shows(", 1 deleted, 2 B: d, moved\\n, moved\\n/b\n");
    await rm(at("from/a"));
    await make(at("from"), { "a/inner": "3" });
    await becomesLike(at("from"), at("to"));
    await chmod(at("from/a"), 0o700);
    await symlink("a", at("from/link"));
    await becomesLike(at("from"), at("to"));
    await command.shows("link\n");
    const shown = (await ends(command)).split("\n");
    expect(shown[0]).toMatch(/^\d\d:\d\d:\d\d 2 files copied, 0 the same, 2 B in \d+s; watching \S*from$/);
    expect(shown.at(-2)).toContain("link");
    // Excluded.
    expect(shown.some((line) => line.includes("node_modules"))).toBe(false);
  });

  it("carries over thousands of files at once", async () => {
    const command = await watching(["--delete", "from", remote("to")]);
    const files = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [`d${index % 40}/f${index}`, `${index}`]),
    );
    await make(at("from"), files);
    const entries = async (): Promise<number> => (await readdir(at("to"), { recursive: true })).length;
    await pollUntil(
      async () => (await entries()) === 2040,
      90_000,
      () => "all files in the destination",
    );
    await becomesLike(at("from"), at("to"));
    await rename(at("from"), at("away"));
    const { status, stderr } = await command.ended();
    expect({ status, stderr }).toEqual({ status: 1, stderr: "exec-server: from is gone\n" });
    // Nothing is deleted because the source is gone.
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("away")));
  });

  it("looks at everything after its connection was cut, and ends with the session", async () => {
    await make(at("from"), { a: "1" });
    await using other = await startServer();
    await using relay = await Relay.open(server.port);
    for (const places of [
      ["from", remote("to")],
      [remote("from"), "to"],
    ]) {
      const command = await watching(["--delete", ...places], relay.url);
      relay.cut();
      relay.bytes = 0;
      // And again in the middle of a batch.
      relay.onBytes = (passed) => {
        if (passed < 150_000) return;
        relay.onBytes = undefined;
        relay.cut();
      };
      await make(at("from"), {
        large: `${places[1]}${"x".repeat(400_000)}`,
        a: "2",
        [`d/b${places[1]}`.replaceAll("/", "-")]: "2",
      });
      await becomesLike(at("from"), at("to"));
      expect(relay.onBytes).toBe(undefined);
      relay.port = other.port;
      relay.cut();
      const { status, stderr } = await command.ended();
      expect(status).toBe(1);
      expect(stderr).toMatch(/^exec-server: [^\n]+\n$/);
      relay.port = server.port;
    }
  });

  it("does not empty the destination with the source, and continues", async () => {
    await make(at("from"), { a: "1", b: "1" });
    const command = await watching(["--delete", "from", remote("to")]);
    await rm(at("from/a"));
    await rm(at("from/b"));
    await command.complains("from is empty: --delete would delete everything in ");
    expect(await readdir(at("to"))).toContain("b");
    await make(at("from"), { c: "1" });
    await becomesLike(at("from"), at("to"));
    command.child.kill("SIGTERM");
    expect((await command.ended()).status).toBe(0);
  });

  it("prints JSON lines, and follows changes of .gitignore", async () => {
    await make(at("from"), { a: "1", "x.log": "1", ".gitignore": "*.log\n" });
    const command = startCommand(
      ["sync", "--watch", "--json", "--gitignore", "from", remote("to")],
      through(server.url),
    );
    await command.shows("\n");
    await make(at("from"), { "y.log": "1" });
    await put(at("from/.gitignore"), "y.log\n");
    await command.shows("x.log");
    const lines = (await ends(command))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toMatchObject([
      { files: 2, paths: [".gitignore", "a"] },
      { files: 2, paths: [".gitignore", "x.log"], failed: [] },
    ]);
    expect(lines.length).toBe(2);
  });
});
