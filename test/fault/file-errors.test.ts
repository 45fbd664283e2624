import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "./deadline.ts";
import { makeFifo } from "./file-nodes.ts";
import { failureOf, outcomeOf, readFile, uriOf, writeFile } from "./file-requests.ts";
import { mountTmpfs } from "./mounted-tmpfs.ts";
import { openDescriptors } from "./proc-fs.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, type SessionClient } from "./session-client.ts";

const MIB = 1024 * 1024;
const NOT_FOUND = -32004;
const INVALID = -32600;
const FAILED = -32603;
const { EACCES, EEXIST, EISDIR, ELOOP, EMFILE, ENAMETOOLONG, ENOENT, ENOSPC, ENOTDIR, ENXIO, EPERM, EROFS } =
  constants.errno;
const NOBODY = 65_534;
const SETTLE_DEADLINE_MS = 60_000;
/** For operations that could hang forever. */
const ANSWER_MS = 30_000;

const failed = (osError: number) => ({ code: FAILED, osError });
const denied = (osError: number) => ({ code: INVALID, osError });

/** Every method that changes something at a path, by what it asks for. */
const CHANGES: Readonly<Record<string, (client: SessionClient, path: string) => Promise<unknown>>> = {
  "fs/writeFile": (client, path) => writeFile(client, path, "new"),
  "fs/writeFile without links": (client, path) => writeFile(client, path, "new", { followSymlinks: false }),
  "fs/open to replace": async (client, path) => {
    await client.request("fs/open", { handleId: "h", path: uriOf(path), mode: "replace" });
    await client.request("fs/close", { handleId: "h" });
  },
  "fs/createDirectory": (client, path) =>
    client.request("fs/createDirectory", { path: uriOf(path), recursive: false }),
  "fs/createDirectory without links": (client, path) =>
    client.request("fs/createDirectory", { path: uriOf(path), recursive: false, followSymlinks: false }),
  "fs/remove": (client, path) => client.request("fs/remove", { path: uriOf(path), force: false }),
  "fs/remove without links": (client, path) =>
    client.request("fs/remove", { path: uriOf(path), force: false, recursive: false, followSymlinks: false }),
  "fs/copy from": (client, path) =>
    client.request("fs/copy", {
      sourcePath: uriOf(path),
      destinationPath: uriOf(`${path}.copy`),
      recursive: true,
    }),
};

/** Every method that looks at a path. */
const LOOKS: Readonly<Record<string, (client: SessionClient, path: string) => Promise<unknown>>> = {
  "fs/readFile": (client, path) => readFile(client, path),
  "fs/readFile without links": (client, path) => readFile(client, path, { followSymlinks: false }),
  "fs/open": async (client, path) => {
    await client.request("fs/open", { handleId: "h", path: uriOf(path) });
    await client.request("fs/close", { handleId: "h" });
  },
  "fs/getMetadata": (client, path) => client.request("fs/getMetadata", { path: uriOf(path) }),
  "fs/getMetadata without links": (client, path) =>
    client.request("fs/getMetadata", { path: uriOf(path), followSymlinks: false }),
  "fs/canonicalize": (client, path) => client.request("fs/canonicalize", { path: uriOf(path) }),
  "fs/readDirectory": (client, path) => client.request("fs/readDirectory", { path: uriOf(path) }),
  "fs/walk": (client, path) =>
    client.request("fs/walk", {
      path: uriOf(path),
      options: { maxDepth: 9, maxDirectories: 99, maxEntries: 99, followDirectorySymlinks: true },
    }),
};

async function failuresOf(
  operations: typeof CHANGES,
  client: SessionClient,
  path: string,
): Promise<Record<string, unknown>> {
  const failures: Record<string, unknown> = {};
  for (const [name, run] of Object.entries(operations)) failures[name] = await failureOf(run(client, path));
  return failures;
}

/** The same answer of all operations, but for the exceptions named. */
const all = (operations: typeof CHANGES, failure: unknown, exceptions: object = {}): object => ({
  ...Object.fromEntries(Object.keys(operations).map((name) => [name, failure])),
  ...exceptions,
});

describe("a file error", () => {
  let base: string;
  let server: ServerUnderTest;
  let client: SessionClient;
  let descriptorsBefore: number;

  beforeAll(async () => {
    base = mkdtempSync("/var/tmp/exec-server-errors-");
    chmodSync(base, 0o755);
    server = await startServer();
    client = await openSession(server.url);
    // What a server opens once and keeps.
    await writeFile(client, `${base}/first`, "first");
    await writeFile(client, `${base}/first`, "first", { followSymlinks: false });
    await readFile(client, `${base}/first`);
    await readFile(client, "/usr/bin/env");
    descriptorsBefore = openDescriptors(server.pid).length;
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(base, { recursive: true, force: true });
  });

  it("reports that the disk is full, and keeps none of it", async () => {
    using disk = mountTmpfs("1m");
    const free = disk.freeBytes();
    const tooMuch = Buffer.alloc(2 * MIB, "x");
    for (const followSymlinks of [true, false]) {
      expect(await failureOf(writeFile(client, `${disk.path}/new`, tooMuch, { followSymlinks }))).toEqual(
        failed(ENOSPC),
      );
      await client.request("fs/remove", { path: uriOf(`${disk.path}/new`) });
      expect(disk.freeBytes()).toBe(free);
    }
    writeFileSync(`${base}/big`, tooMuch);
    const copied = client.request("fs/copy", {
      sourcePath: uriOf(`${base}/big`),
      destinationPath: uriOf(`${disk.path}/copy`),
      recursive: false,
    });
    expect(await failureOf(copied)).toEqual(failed(ENOSPC));
    await client.request("fs/remove", { path: uriOf(`${disk.path}/copy`) });
    await client.request("fs/open", { handleId: "h", path: uriOf(`${disk.path}/blocks`), mode: "replace" });
    const block = (offset: number) =>
      client.request("fs/writeBlock", { handleId: "h", offset, chunk: tooMuch.toString("base64", 0, MIB) });
    await block(0);
    expect(await failureOf(block(MIB))).toEqual(failed(ENOSPC));
    await client.request("fs/close", { handleId: "h" });
    await client.request("fs/remove", { path: uriOf(`${disk.path}/blocks`) });
    await writeFile(client, `${disk.path}/small`, "fits");
    expect(readFileSync(`${disk.path}/small`, "utf8")).toBe("fits");
  });

  it("reports that the file system is read-only", async () => {
    using disk = mountTmpfs("1m");
    writeFileSync(`${disk.path}/old`, "old");
    disk.makeReadOnly();
    expect(await failuresOf(CHANGES, client, `${disk.path}/old`)).toEqual(
      all(CHANGES, failed(EROFS), {
        "fs/createDirectory": failed(EEXIST),
        "fs/createDirectory without links": failed(EEXIST),
      }),
    );
    expect(await failuresOf(CHANGES, client, `${disk.path}/new`)).toEqual(
      all(CHANGES, failed(EROFS), {
        "fs/remove": { code: NOT_FOUND, osError: ENOENT },
        "fs/remove without links": { code: NOT_FOUND, osError: ENOENT },
        "fs/copy from": { code: NOT_FOUND, osError: ENOENT },
      }),
    );
    expect((await readFile(client, `${disk.path}/old`)).toString()).toBe("old");
  });

  it("reports links that lead in a circle", async () => {
    const directory = `${base}/circle`;
    mkdirSync(directory);
    symlinkSync("b", `${directory}/a`);
    symlinkSync("a", `${directory}/b`);
    const linkRefused = { code: INVALID };
    expect(await failuresOf(LOOKS, client, `${directory}/a`)).toEqual(
      all(LOOKS, failed(ELOOP), { "fs/getMetadata without links": linkRefused }),
    );
    const { "fs/remove": _, "fs/copy from": __, ...changes } = CHANGES;
    expect(await failuresOf(changes, client, `${directory}/a`)).toEqual(
      all(changes, failed(ELOOP), {
        "fs/createDirectory": failed(EEXIST),
        "fs/createDirectory without links": failed(EEXIST),
        "fs/remove without links": linkRefused,
      }),
    );
    const below = await failuresOf({ ...LOOKS, ...CHANGES }, client, `${directory}/a/x`);
    expect(below).toEqual(
      Object.fromEntries(
        Object.keys({ ...LOOKS, ...CHANGES }).map((name) => [
          name,
          failed(name.endsWith("without links") ? ENOTDIR : ELOOP),
        ]),
      ),
    );
  });

  it("reports that a name is too long", async () => {
    const everything = { ...LOOKS, ...CHANGES };
    const longName = `${base}/${"n".repeat(256)}`;
    expect(await failuresOf(everything, client, longName)).toEqual(all(everything, failed(ENAMETOOLONG)));
  });

  it("reports that there is a directory in the place of a file, and the other way round", async () => {
    const directory = `${base}/directory`;
    mkdirSync(directory);
    writeFileSync(`${base}/file`, "");
    for (const name of ["fs/writeFile", "fs/writeFile without links", "fs/open to replace"])
      expect([name, await failureOf(CHANGES[name]!(client, directory))]).toEqual([name, failed(EISDIR)]);
    const notAFile = { code: INVALID };
    for (const name of ["fs/readFile", "fs/readFile without links", "fs/open"])
      expect([name, await failureOf(LOOKS[name]!(client, directory))]).toEqual([name, notAFile]);
    const everything = { ...LOOKS, ...CHANGES };
    expect(await failuresOf(everything, client, `${base}/file/x`)).toEqual(all(everything, failed(ENOTDIR)));
    expect(await failureOf(LOOKS["fs/readDirectory"]!(client, `${base}/file`))).toEqual(failed(ENOTDIR));
  });

  it("reports what a user may not do, as the real server does", async () => {
    const place = `${base}/denied`;
    const names = ["ours", "codex"];
    const servers = await Promise.all([
      startServer({ user: NOBODY }),
      startServer({ user: NOBODY, codex: true }),
    ]);
    try {
      const outcomes: Record<string, unknown>[] = [];
      for (const [index, { url }] of servers.entries()) {
        const home = `${place}/${names[index]}`;
        makeDeniedTree(home);
        outcomes.push(await tryEverything(await openSession(url), home));
        expect(readFileSync(`${home}/foreign`, "utf8")).toBe("foreign");
        expect(existsSync(`${home}/sticky/foreign`)).toBe(true);
        expect(existsSync(`${home}/locked/inner`)).toBe(true);
      }
      expect(codesIn(outcomes[0])).toEqual(codesIn(outcomes[1]));
      expect(outcomes[0]).toMatchObject({
        "fs/readFile secret": { failure: denied(EACCES) },
        "fs/writeFile foreign": { failure: denied(EACCES) },
        "fs/writeFile own/read-only": { failure: denied(EACCES) },
        "fs/remove sticky/foreign": { failure: denied(EPERM) },
        "fs/readDirectory locked": { failure: denied(EACCES) },
        "fs/writeFile own/mine": { result: null },
        "fs/writeFile own/anybody": { result: null },
      });
    } finally {
      await Promise.all(servers.map((each) => each[Symbol.asyncDispose]()));
    }
  });

  it("comes at once for a pipe without a reader, and does not hold up others", async () => {
    await using own = await startServer();
    const bystander = await openSession(own.url);
    makeFifo(`${base}/pipe`);
    writeFileSync(`${base}/source`, "source");
    const onto = (client: SessionClient) =>
      client.request("fs/copy", {
        sourcePath: uriOf(`${base}/source`),
        destinationPath: uriOf(`${base}/pipe`),
        recursive: false,
      });
    const {
      "fs/writeFile": write,
      "fs/writeFile without links": writeNoFollow,
      "fs/open to replace": open,
    } = CHANGES;
    for (const [name, run] of Object.entries({ write, writeNoFollow, open, copy: onto })) {
      const asking = await openSession(own.url);
      const failure = failureOf(run!(asking, `${base}/pipe`));
      failure.catch(() => {}); // looked at below, after the bystander
      const status = bystander.request("environment/status");
      await withDeadline(status, ANSWER_MS, () => `another connection's answer during ${name} on a pipe`);
      expect([name, await withDeadline(failure, ANSWER_MS, () => `${name} on a pipe`)]).toEqual([
        name,
        failed(ENXIO),
      ]);
      asking.cut();
    }
  });

  it("comes when there are no descriptors left, and ends when there are", async () => {
    await using own = await startServer({ through: ["prlimit", "--nofile=64"] });
    const asking = await openSession(own.url);
    await writeFile(asking, `${base}/one`, "one");
    const open = (handleId: string) => asking.request("fs/open", { handleId, path: uriOf(`${base}/one`) });
    let opened = 0;
    const refusal = await failureOf(
      (async () => {
        for (; opened < 64; opened += 1) await open(`h${opened}`);
      })(),
    );
    expect(refusal).toEqual(failed(EMFILE));
    expect(opened).toBeGreaterThan(10);
    expect(await failureOf(readFile(asking, `${base}/one`))).toEqual(failed(EMFILE));
    expect(await failureOf(writeFile(asking, `${base}/one`, "two"))).toEqual(failed(EMFILE));
    expect(await failureOf(readFile(asking, `${base}/one`, { followSymlinks: false }))).toEqual(
      failed(EMFILE),
    );
    for (let i = 0; i < opened; i += 1) await asking.request("fs/close", { handleId: `h${i}` });
    expect((await readFile(asking, `${base}/one`)).toString()).toBe("one");
    const second = await openSession(own.url);
    await second.request("environment/status");
  });

  it("costs no descriptor", async () => {
    expect(await client.request("environment/status")).toEqual({ status: "ready" });
    await pollUntil(
      () => openDescriptors(server.pid).length === descriptorsBefore,
      SETTLE_DEADLINE_MS,
      () => `${descriptorsBefore} descriptors instead of ${openDescriptors(server.pid).join(", ")}`,
    );
  });
});

/** What a user without rights finds: files of others, locked files, and its own. */
function makeDeniedTree(home: string): void {
  const file = (name: string, mode: number, owner: number): void => {
    writeFileSync(`${home}/${name}`, name.slice(name.indexOf("/") + 1));
    chmodSync(`${home}/${name}`, mode);
    chownSync(`${home}/${name}`, owner, owner);
  };
  const directory = (name: string, mode: number, owner: number): void => {
    mkdirSync(`${home}/${name}`, { recursive: true });
    chmodSync(`${home}/${name}`, mode);
    chownSync(`${home}/${name}`, owner, owner);
  };
  directory("", 0o755, 0);
  directory("locked", 0o700, 0);
  directory("locked/inner", 0o755, 0);
  directory("own", 0o755, NOBODY);
  directory("sticky", 0o1777, 0);
  directory("listless", 0o711, 0);
  directory("mixed", 0o755, NOBODY);
  directory("mixed/locked", 0o700, 0);
  file("foreign", 0o644, 0);
  file("secret", 0o600, 0);
  file("locked/file", 0o644, 0);
  file("listless/file", 0o644, 0);
  file("sticky/foreign", 0o644, 0);
  file("own/read-only", 0o444, NOBODY);
  file("own/unreadable", 0o200, NOBODY);
  file("own/mine", 0o644, NOBODY);
  file("own/anybody", 0o666, 0);
  file("own/foreign", 0o644, 0);
}

async function tryEverything(client: SessionClient, home: string): Promise<Record<string, unknown>> {
  const paths = [
    "foreign",
    "secret",
    "new",
    "locked",
    "locked/file",
    "listless",
    "listless/file",
    "sticky/foreign",
    "mixed",
    "own/read-only",
    "own/unreadable",
    "own/mine",
    "own/anybody",
    "own/foreign",
  ];
  const outcomes: Record<string, unknown> = {};
  const attempt = async (name: string, path: string, run: Promise<unknown>): Promise<void> => {
    const outcome = JSON.stringify(await outcomeOf(run)).replaceAll(home, "~");
    outcomes[`${name} ${path}`] = JSON.parse(outcome, (key, value: unknown) =>
      key.endsWith("AtMs") ? 0 : value,
    );
  };
  for (const path of paths) {
    for (const [name, run] of Object.entries(LOOKS))
      await attempt(name, path, run(client, `${home}/${path}`));
  }
  const {
    "fs/copy from": _,
    "fs/remove": remove,
    "fs/remove without links": removeNoFollow,
    ...changes
  } = CHANGES;
  for (const path of paths) {
    for (const [name, run] of Object.entries(changes))
      await attempt(name, path, run(client, `${home}/${path}`));
    const copy = (sourcePath: string, destinationPath: string) =>
      client.request("fs/copy", {
        sourcePath: uriOf(sourcePath),
        destinationPath: uriOf(destinationPath),
        recursive: true,
      });
    await attempt("fs/copy to", path, copy(`${home}/own/mine`, `${home}/${path}`));
    await attempt("fs/copy from", path, copy(`${home}/${path}`, `${home}/own/copy`));
  }
  for (const path of paths) {
    await attempt("fs/remove without links", path, removeNoFollow!(client, `${home}/${path}`));
    await attempt("fs/remove", path, remove!(client, `${home}/${path}`));
  }
  return outcomes;
}

/** For a refusal only the code: of two reasons for the same code servers see one or the other first. */
function codesIn(outcomes: Record<string, unknown> = {}): Record<string, unknown> {
  const entries = Object.entries(outcomes).map(([name, outcome]) => {
    const { failure } = outcome as { failure?: { code: number } };
    return [name, failure?.code === INVALID ? INVALID : outcome];
  });
  // The real server copies the contents and then fails to change the permissions of a file that is not its own.
  return Object.fromEntries(entries.filter(([name]) => name !== "fs/copy to own/anybody"));
}
