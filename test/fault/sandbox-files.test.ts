import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { path as entry, pattern, policy, special } from "../conformance/file-policies.ts";
import { createServer } from "../../src/server/index.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { openMemoryPeer } from "../conformance/raw-peer.ts";
import { pollUntil } from "./deadline.ts";
import { failureOf, readFile, uriOf, writeFile } from "./file-requests.ts";
import { exchangeNames } from "./name-exchange.ts";
import {
  commandLine,
  descendantsOf,
  isStillAlive,
  openDescriptors,
  peakResidentBytes,
  writtenBytes,
} from "./proc-fs.ts";
import { packageRoot, type ServerUnderTest, startServer } from "./server-under-test.ts";
import { type Notification, openSession, type SessionClient } from "./session-client.ts";

const DEADLINE_MS = 60_000;
const FAILED = -32603;
const READ_ONLY = { code: FAILED, osError: 30 };
const NOT_FOUND = { code: -32004, osError: 2 };
const MIB = 1024 * 1024;
const NOBODY = 65_534;
const MAX_HELPERS = 8;
/** More than anything else that the server writes meanwhile, and less than a pipe takes. */
const PART_OF_CALL_BYTES = 32 * 1024;

let tree: string;
let server: ServerUnderTest;
let client: SessionClient;
let told: Notification[];

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  tree = mkdtempSync(join(realpathSync(tmpdir()), "fault-sandbox-"));
  mkdirSync(join(tree, "in", ".git"), { recursive: true });
  mkdirSync(join(tree, "out"));
  writeFileSync(join(tree, "in/f"), "inside");
  writeFileSync(join(tree, "out/f"), "outside");
  told = [];
  client = await openSession(server.url, { onNotification: (notification) => told.push(notification) });
});
afterEach(async () => {
  client.cut();
  await helpersGone();
  rmSync(tree, { recursive: true, force: true });
});

const at = (name: string): string => join(tree, name);
const inside = (name = "") => entry(uriOf(at(`in/${name}`.replace(/\/$/, ""))), "write");
/** Reads the disk and writes `in`. */
const writes = (...more: ReturnType<typeof entry>[]) =>
  policy(uriOf(at("in")), special("root", "read"), inside(), ...more);
/** Sees nothing but `in`, which it may write. */
const sees = (...more: ReturnType<typeof entry>[]) => policy(uriOf(at("in")), inside(), ...more);

const helpersOf = (pid: number) =>
  descendantsOf(pid).filter((found) => {
    const command = commandLine(found.pid);
    return command.includes("sandbox-helper.js") && !command.startsWith("bwrap");
  });

async function helpersGone(pid = server.pid): Promise<void> {
  await pollUntil(
    () => helpersOf(pid).length === 0,
    DEADLINE_MS,
    () =>
      `the end of ${helpersOf(pid)
        .map((helper) => commandLine(helper.pid))
        .join()}`,
  );
}

/** The mount points of missing names disappear with the sandbox. */
async function onlyLeft(...names: string[]): Promise<void> {
  const left = (): string => readdirSync(at("in")).toSorted().join();
  await pollUntil(() => left() === names.join(), DEADLINE_MS, left);
}

function theHelper(): number {
  const [helper, ...others] = helpersOf(server.pid);
  expect(others).toEqual([]);
  return helper!.pid;
}

const messageOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    (result) => `no error, but ${JSON.stringify(result)}`,
    (error: Error) => error.message,
  );

describe("a helper", () => {
  it("serves one policy of one connection, and ends with the connection", async () => {
    for (const name of ["a", "b", "c"]) await writeFile(client, at(`in/${name}`), name, sees());
    const helper = theHelper();
    const other = await openSession(server.url);
    expect((await readFile(other, at("in/a"), sees())).toString()).toBe("a");
    expect(helpersOf(server.pid)).toHaveLength(2);
    other.cut();
    await pollUntil(
      () => helpersOf(server.pid).length === 1,
      DEADLINE_MS,
      () => "the end of one helper",
    );
    expect(theHelper()).toBe(helper);
  });

  it("leaves no descriptor and no process behind", async () => {
    await writeFile(client, at("in/a"), "a", sees());
    client.cut();
    await helpersGone();
    const before = openDescriptors(server.pid).length;
    for (let round = 0; round < 3; round += 1) {
      const next = await openSession(server.url);
      await writeFile(next, at("in/a"), "a", sees());
      await next.request("fs/open", { handleId: "h", path: uriOf(at("in/a")), ...sees() });
      next.cut();
      await helpersGone();
    }
    await pollUntil(
      () => openDescriptors(server.pid).length <= before,
      DEADLINE_MS,
      () => openDescriptors(server.pid).join(),
    );
  });

  it("has three descriptors of the server, and sees no process but itself", async () => {
    await writeFile(client, at("in/a"), "a", sees());
    const own = openDescriptors(theHelper()).filter((target) => /^(?:pipe|socket):/.test(target));
    // Node's own pipes for its signals and threads are not shared with anybody.
    const servers = new Set(openDescriptors(server.pid));
    expect(own.filter((target) => servers.has(target))).toHaveLength(3);
    const { entries } = await client.request<{ entries: { fileName: string }[] }>("fs/readDirectory", {
      path: "file:///proc",
      ...sees(),
    });
    expect(entries.filter(({ fileName }) => /^\d+$/.test(fileName)).length).toBeLessThan(5);
    await expect(readFile(client, `/proc/${server.pid}/environ`, sees())).rejects.toThrow();
  });

  it("that is killed fails its call, and the next call has a new one", async () => {
    await writeFile(client, at("in/a"), "a", sees());
    const helper = theHelper();
    process.kill(helper, "SIGSTOP");
    const before = writtenBytes(server.pid);
    const pending = messageOf(writeFile(client, at("in/a"), Buffer.alloc(MIB, "b"), sees()));
    // Before it has the call, another helper would get it.
    await pollUntil(
      () => writtenBytes(server.pid) - before > PART_OF_CALL_BYTES,
      DEADLINE_MS,
      () => "the call to be passed on",
    );
    process.kill(helper, "SIGKILL");
    expect(await pending).toMatch(/fs sandbox helper failed: status (?:signal: 9|exit status: 137)/);
    expect(readFileSync(at("in/a"), "utf8")).toBe("a");
    await writeFile(client, at("in/a"), "c", sees());
    expect(readFileSync(at("in/a"), "utf8")).toBe("c");
  });

  it("that is killed takes its handles and watches with it, and says so", async () => {
    await client.request("fs/open", { handleId: "h", path: uriOf(at("in/f")), ...sees() });
    await client.request("fs/watch", { watchId: "w", path: uriOf(at("in")), ...sees() });
    process.kill(theHelper(), "SIGKILL");
    await pollUntil(
      () => told.some(({ params }) => params.watchId === "w" && params.ended === true),
      DEADLINE_MS,
      () => "the end of the watch",
    );
    const block = { handleId: "h", offset: 0, len: 6 };
    expect(await messageOf(client.request("fs/readBlock", block))).toContain("fs sandbox helper failed");
    expect(await client.request("fs/close", { handleId: "h" })).toEqual({});
    await client.request("fs/open", { handleId: "h", path: uriOf(at("in/f")), ...sees() });
    expect(await client.request("fs/readBlock", block)).toMatchObject({ chunk: "aW5zaWRl" });
  });

  it("ends with a server that is killed", async () => {
    await using doomed = await startServer();
    const session = await openSession(doomed.url);
    await writeFile(session, at("in/a"), "a", sees());
    const family = descendantsOf(doomed.pid);
    expect(family.length).toBeGreaterThan(1);
    await doomed.kill("SIGKILL");
    await pollUntil(
      () => family.every((member) => !isStillAlive(member)),
      DEADLINE_MS,
      () =>
        family
          .filter(isStillAlive)
          .map(({ pid }) => commandLine(pid))
          .join(),
    );
  });

  it("is found by a server that is used as a library", async () => {
    const library = pathToFileURL(join(packageRoot, "dist/lib/server/index.js")).href;
    const script = `import { serve } from "${library}"; console.log((await serve({ environment: process.env })).url);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const url = await Promise.race([once(child.stdout, "data"), once(child, "exit")]).then(String);
      const session = await openSession(url.trim());
      await writeFile(session, at("in/a"), "a", sees());
      expect(readFileSync(at("in/a"), "utf8")).toBe("a");
      session.cut();
      await helpersGone(child.pid);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("works for an ordinary user", async () => {
    await using users = await startServer({ user: NOBODY });
    const session = await openSession(users.url);
    const home = mkdtempSync("/tmp/fault-user-");
    try {
      const only = policy(null, entry("file:///etc", "read"), special("slash_tmp", "write"));
      await writeFile(session, `${home}-file`, "made", only).catch((error: Error) => {
        throw new Error(`as a user: ${error.message}`, { cause: error });
      });
      expect(readFileSync(`${home}-file`, "utf8")).toBe("made");
      expect((await readFile(session, "/etc/passwd", only)).length).toBeGreaterThan(0);
      expect(await failureOf(readFile(session, "/var/lib/dpkg/status", only))).toEqual(NOT_FOUND);
    } finally {
      rmSync(home, { recursive: true, force: true });
      rmSync(`${home}-file`, { force: true });
      session.cut();
    }
  });
});

describe("what a helper was started with", () => {
  it("a writable directory that becomes a link is granted where it leads now, and nowhere else", async () => {
    mkdirSync(at("in/sub"));
    const sub = policy(uriOf(at("in")), special("root", "read"), inside("sub"));
    await writeFile(client, at("in/sub/a"), "first", sub);
    renameSync(at("in/sub"), at("in/old"));
    symlinkSync("../out", at("in/sub"));
    await writeFile(client, at("in/sub/a"), "second", sub);
    expect(readFileSync(at("out/a"), "utf8")).toBe("second");
    expect(readFileSync(at("in/old/a"), "utf8")).toBe("first");
    expect(await failureOf(writeFile(client, at("in/old/a"), "third", sub))).toEqual(READ_ONLY);
  });

  it("links and directories that change places all the time lead no write out", async () => {
    mkdirSync(at("in/d"));
    symlinkSync("../out", at("in/l"));
    {
      await using _ = await exchangeNames(at("in/d"), at("in/l"));
      for (let index = 0; index < 60; index += 1)
        await Promise.allSettled([
          writeFile(client, at("in/d/a"), "a", writes()),
          client.request("fs/createDirectory", { path: uriOf(at("in/d/b/c")), ...writes() }),
          client.request("fs/remove", { path: uriOf(at("in/d/f")), ...writes() }),
          client.request("fs/rename", { from: uriOf(at("in/d/a")), to: uriOf(at("in/l/e")), ...writes() }),
        ]);
    }
    expect(readdirSync(at("out"))).toEqual(["f"]);
    expect(readFileSync(at("out/f"), "utf8")).toBe("outside");
  });

  it("a writable directory that is replaced by another gets the writes", async () => {
    await writeFile(client, at("in/a"), "first", sees());
    renameSync(at("in"), at("moved"));
    mkdirSync(at("in"));
    await writeFile(client, at("in/a"), "second", sees());
    expect(readFileSync(at("in/a"), "utf8")).toBe("second");
    expect(readFileSync(at("moved/a"), "utf8")).toBe("first");
  });

  it("a denied directory that is replaced by another stays denied", async () => {
    mkdirSync(at("in/secret"));
    writeFileSync(at("in/secret/k"), "key");
    const denied = writes(entry(uriOf(at("in/secret")), "deny"));
    expect((await failureOf(readFile(client, at("in/secret/k"), denied))).code).toBe(-32600);
    renameSync(at("in/secret"), at("old"));
    mkdirSync(at("in/secret"));
    writeFileSync(at("in/secret/k"), "other key");
    expect((await failureOf(readFile(client, at("in/secret/k"), denied))).code).toBe(-32600);
  });

  it("handles outlive a change of the view, and keep their helper until they are closed", async () => {
    const denied = writes(pattern("**/*.pem"));
    await client.request("fs/open", { handleId: "h", path: uriOf(at("in/f")), ...denied });
    const first = theHelper();
    writeFileSync(at("in/new.pem"), "key");
    expect((await failureOf(readFile(client, at("in/new.pem"), denied))).code).toBe(-32600);
    expect(helpersOf(server.pid).map(({ pid }) => pid)).toContain(first);
    expect(await client.request("fs/readBlock", { handleId: "h", offset: 0, len: 9 })).toMatchObject({
      chunk: "aW5zaWRl",
    });
    await client.request("fs/close", { handleId: "h" });
    await pollUntil(
      () => !helpersOf(server.pid).some(({ pid }) => pid === first),
      DEADLINE_MS,
      () => "the end of the first helper",
    );
  });

  it("protected names that do not exist cannot be created, and nothing is left of them", async () => {
    rmSync(at("in/.git"), { recursive: true });
    expect(
      (
        await failureOf(
          client.request("fs/createDirectory", { path: uriOf(at("in/.git/hooks")), ...writes() }),
        )
      ).code,
    ).toBe(FAILED);
    expect((await failureOf(writeFile(client, at("in/.git"), "gitdir: elsewhere", writes()))).code).toBe(
      FAILED,
    );
    await writeFile(client, at("in/a"), "a", writes());
    // One helper for all three: the mount points of the missing names do not count as a change.
    theHelper();
    client.cut();
    await helpersGone();
    await onlyLeft("a", "f");
  });
});

describe("many calls", () => {
  it("a thousand in flight under two policies take effect in order, with two helpers", async () => {
    const calls = Array.from({ length: 1000 }, (_, index) =>
      writeFile(client, at("in/a"), String(index), index % 2 === 0 ? sees() : writes()),
    );
    await Promise.all(calls);
    expect(readFileSync(at("in/a"), "utf8")).toBe("999");
    expect(helpersOf(server.pid)).toHaveLength(2);
  });

  it("more policies than helpers are served; one that holds a file is not given up", async () => {
    for (let index = 0; index < MAX_HELPERS + 3; index += 1) {
      mkdirSync(at(`in/d${index}`));
      const only = policy(null, inside(`d${index}`));
      await writeFile(client, at(`in/d${index}/a`), "a", only);
      if (index < 2)
        await client.request("fs/open", {
          handleId: `h${index}`,
          path: uriOf(at(`in/d${index}/a`)),
          ...only,
        });
    }
    await pollUntil(
      () => helpersOf(server.pid).length <= MAX_HELPERS,
      DEADLINE_MS,
      () => `${helpersOf(server.pid).length} helpers`,
    );
    for (const handleId of ["h0", "h1"])
      expect(await client.request("fs/readBlock", { handleId, offset: 0, len: 1 })).toMatchObject({
        chunk: "YQ==",
      });
  });

  it("when all helpers hold files, a further policy is refused, with the remedy", async () => {
    for (let index = 0; index <= MAX_HELPERS; index += 1) {
      mkdirSync(at(`in/d${index}`));
      writeFileSync(at(`in/d${index}/a`), "a");
    }
    const open = (index: number) =>
      client.request("fs/open", {
        handleId: `h${index}`,
        path: uriOf(at(`in/d${index}/a`)),
        ...policy(null, inside(`d${index}`)),
      });
    for (let index = 0; index < MAX_HELPERS; index += 1) await open(index);
    expect(await messageOf(open(MAX_HELPERS))).toContain("close file handles or watches");
    await client.request("fs/close", { handleId: "h3" });
    expect(await open(MAX_HELPERS)).toEqual({ handleId: `h${MAX_HELPERS}` });
  });

  it("a connection that is cut in the middle of a large write leaves the old file or the new one", async () => {
    const large = Buffer.alloc(12 * MIB, "n");
    for (const delayMs of [0, 3, 10, 30, 80]) {
      writeFileSync(at("in/large"), "old");
      const session = await openSession(server.url);
      await writeFile(session, at("in/small"), "s", sees());
      const lost = messageOf(writeFile(session, at("in/large"), large, sees()));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      session.cut("reset");
      const message = await lost;
      await helpersGone();
      const left = readFileSync(at("in/large"));
      // The answer may have come before the cut.
      if (message.startsWith("no error")) expect(left.equals(large)).toBe(true);
      else expect(message).toContain("connection lost");
      expect(left.equals(large) || left.toString() === "old").toBe(true);
      await onlyLeft(".git", "f", "large", "small");
    }
  });

  it("a large file passes in both directions without much memory", async () => {
    const large = Buffer.alloc(40 * MIB, "0123456789abcdef");
    writeFileSync(at("in/large"), large);
    expect((await readFile(client, at("in/large"), sees())).equals(large)).toBe(true);
    // A longer message does not fit into one frame.
    const part = large.subarray(0, 11 * MIB);
    await writeFile(client, at("in/part"), part, sees());
    expect(readFileSync(at("in/part")).equals(part)).toBe(true);
    expect(peakResidentBytes(theHelper())).toBeLessThan(300 * MIB);
  });
});

describe("the methods that Codex lacks", () => {
  it("are confined too", async () => {
    const request = (method: string, params: object) => client.request(method, { ...params, ...writes() });
    const uri = (name: string) => uriOf(at(name));
    await request("fs/rename", { from: uri("in/f"), to: uri("in/g") });
    expect(readFileSync(at("in/g"), "utf8")).toBe("inside");
    expect(await failureOf(request("fs/rename", { from: uri("out/f"), to: uri("in/h") }))).not.toEqual({});
    expect(existsSync(at("out/f"))).toBe(true);
    expect((await failureOf(request("fs/rename", { from: uri("in/g"), to: uri("out/g") }))).code).toBe(
      FAILED,
    );
    await request("fs/symlink", { path: uri("in/l"), target: "../out/f" });
    expect(await request("fs/readLink", { path: uri("in/l") })).toEqual({ target: "../out/f" });
    expect(await failureOf(request("fs/chmod", { path: uri("in/l"), mode: 0o777 }))).toEqual(READ_ONLY);
    expect(await failureOf(request("fs/symlink", { path: uri("out/l"), target: "f" }))).toEqual(READ_ONLY);
    await request("fs/chmod", { path: uri("in/g"), mode: 0o600 });
    const sha256 = createHash("sha256").update("inside").digest("hex");
    expect(await request("fs/hash", { path: uri("in/g") })).toEqual({ hashes: [{ bytes: 6, sha256 }] });
    expect(await request("fs/hash", { path: uri("in"), names: ["g", "none"] })).toEqual({
      hashes: [{ bytes: 6, sha256 }, { bytes: 0 }],
    });
    expect(await failureOf(client.request("fs/hash", { path: uri("out/f"), ...sees() }))).toEqual(NOT_FOUND);
    await request("fs/openPart", { handleId: "part", path: uri("in/part"), private: true });
    await client.request("fs/writeBlock", { handleId: "part", offset: 0, chunk: "QUJD" });
    await client.request("fs/close", { handleId: "part" });
    expect(readFileSync(at("in/part"), "utf8")).toBe("ABC");
    expect(await failureOf(request("fs/openPart", { handleId: "p", path: uri("out/part") }))).toEqual(
      READ_ONLY,
    );
  });

  it("a watch reports changes of what the policy shows, and of nothing else", async () => {
    await client.request("fs/watch", { watchId: "w", path: uriOf(at("in")), ...sees() });
    expect(
      await failureOf(client.request("fs/watch", { watchId: "x", path: uriOf(at("out")), ...sees() })),
    ).toEqual(NOT_FOUND);
    expect(await messageOf(client.request("fs/watch", { watchId: "w", path: uriOf(at("in")) }))).toContain(
      "is in use",
    );
    writeFileSync(at("out/g"), "g");
    writeFileSync(at("in/g"), "g");
    await pollUntil(
      () => told.length > 0,
      DEADLINE_MS,
      () => "a change",
    );
    expect(told[0]).toMatchObject({
      method: "fs/watch/changed",
      params: { watchId: "w", paths: [uriOf(at("in/g"))], overflow: false, ended: false },
    });
    await client.request("fs/unwatch", { watchId: "w" });
    await client.request("fs/watch", { watchId: "w", path: uriOf(at("in")), ...writes() });
  });
});

describe("the server's own files", () => {
  it("are out of reach in every policy, also through links, and nothing else is", async () => {
    mkdirSync(at("own"));
    writeFileSync(at("own/token"), "secret");
    mkdirSync(at("out/state"));
    writeFileSync(at("out/state/ledger"), "secret");
    symlinkSync("../own/token", at("out/soft"));
    for (const hiddenPaths of [[at("own/token")], [at("own/token"), at("out/state")]]) {
      const own = createServer({ environment: process.env, hiddenPaths });
      const [ours, theirs] = createMemoryPair();
      own.accept(theirs);
      const peer = openMemoryPeer(ours);
      await peer.handshake();
      const masked = ["own/token", "out/soft", ...(hiddenPaths.length > 1 ? ["out/state/ledger"] : [])];
      for (const sandbox of [policy(null, special("root", "read")), writes(), sees()]) {
        for (const name of masked) {
          const read = peer.request("fs/readFile", { path: uriOf(at(name)), ...sandbox });
          await expect(read, name).rejects.toThrow();
          const opened = peer.request("fs/open", { handleId: name, path: uriOf(at(name)), ...sandbox });
          await expect(opened, name).rejects.toThrow();
        }
        const { dataBase64 } = await peer.request("fs/readFile", { path: uriOf(at("in/f")), ...sandbox });
        expect(dataBase64).toBe("aW5zaWRl");
        for (const name of ["environ", "mem", "cwd/package.json", "fd/1"]) {
          const read = peer.request("fs/readFile", {
            path: `file:///proc/${process.pid}/${name}`,
            ...sandbox,
          });
          await expect(read, name).rejects.toThrow();
        }
      }
      await expect(
        peer.request("fs/writeFile", { path: uriOf(at("own/token")), dataBase64: "eA==", ...writes() }),
      ).rejects.toThrow();
      await expect(
        peer.request("fs/remove", { path: uriOf(at("own/token")), ...writes() }),
      ).rejects.toThrow();
      expect(readFileSync(at("own/token"), "utf8")).toBe("secret");
      peer.drop();
      await own.close();
    }
    await helpersGone(process.pid);
  });
});

describe("the server's own limits", () => {
  it("roots of the server hold inside a sandbox as well", async () => {
    await using rooted = await startServer({ args: ["--fs-roots", at("in")] });
    const session = await openSession(rooted.url);
    expect((await readFile(session, at("in/f"), writes())).toString()).toBe("inside");
    await writeFile(session, at("in/a"), "a", writes());
    expect((await failureOf(readFile(session, at("out/f"), writes()))).code).toBe(-32600);
    const out = policy(null, entry(uriOf(at("out")), "write"));
    expect((await failureOf(writeFile(session, at("out/f"), "x", out))).code).toBe(-32600);
    expect(readFileSync(at("out/f"), "utf8")).toBe("outside");
    session.cut();
    await helpersGone(rooted.pid);
  });

  it("without descriptors calls fail, and work again when there are some", async () => {
    await using poor = await startServer({ through: ["prlimit", "--nofile=96"] });
    const session = await openSession(poor.url);
    await writeFile(session, at("in/a"), "a", sees());
    let opened = 0;
    for (; opened < 96; opened += 1) {
      const answer = await messageOf(
        session.request("fs/open", { handleId: `h${opened}`, path: uriOf(at("in/f")) }),
      );
      if (!answer.startsWith("no error")) break;
    }
    expect(await messageOf(writeFile(session, at("in/a"), "c", writes()))).toContain("(os error 24)");
    expect(readFileSync(at("in/a"), "utf8")).toBe("a");
    for (let index = 0; index < opened; index += 1)
      await session.request("fs/close", { handleId: `h${index}` });
    await writeFile(session, at("in/a"), "d", writes());
    expect(readFileSync(at("in/a"), "utf8")).toBe("d");
    session.cut();
  });
});
