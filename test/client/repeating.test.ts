import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConnectionError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { startServer } from "../fault/server-under-test.ts";
import { inTime, open } from "./fake-hosts.ts";
import { FakeServer, unanswered } from "./fake-server.ts";
import { Relay } from "./relay.ts";

// The fate of calls whose answers were lost, and how often anything is retried.

test.each([
  ["our server", false],
  ["the real server", true],
])("on %s, 201 files written at once survive a cut, each with its content", async (_, codex) => {
  await using server = await startServer({ codex });
  await using relay = await Relay.open(server.port);
  const directory = await mkdtemp(join(tmpdir(), "exec-server-repeat-"));
  const host = await connect(relay.url);
  try {
    const names = Array.from({ length: 201 }, (_, index) => `file-${index}`);
    const content = (name: string): string => `${name} `.repeat(500);
    const [first, ...others] = names.map((name) => host.files.write(join(directory, name), content(name)));
    const all = Promise.all(others);
    await first;
    relay.cut();
    await inTime(all, "the writes");
    expect((await readdir(directory)).length).toBe(201);
    for (const name of names) expect(await readFile(join(directory, name), "utf8")).toBe(content(name));
  } finally {
    await host.close();
    await rm(directory, { recursive: true, force: true });
  }
});

type Act = (host: Host) => Promise<unknown>;

/** Leaves the first request of a method unanswered, cuts, and returns its outcome. */
async function lose(method: string, act: Act) {
  const server = new FakeServer();
  server.answers.set(method, () => unanswered);
  const host = await open(server);
  const acting = act(host);
  acting.catch(() => {});
  await server.connections[0]!.request(method);
  server.answers.set(method, () => answers[method] ?? {});
  server.connections[0]!.cut();
  const second = await server.connection(2);
  await second.until(() => second.notifications.length > 0, "the second connection");
  return { acting: inTime(acting, method), second, host };
}

const answers: Record<string, unknown> = {
  "fs/getMetadata": {
    isDirectory: false,
    isFile: true,
    isSymlink: false,
    size: 0,
    createdAtMs: 0,
    modifiedAtMs: 0,
  },
  "fs/readFile": { dataBase64: "" },
  "fs/readDirectory": { entries: [] },
  "fs/canonicalize": { path: "file:///a" },
  "fs/readLink": { target: "b" },
  "fs/walk": { entries: [], errors: [], truncated: false },
};

test.each<[string, string, Act]>([
  ["stat", "fs/getMetadata", (host) => host.files.stat("/a")],
  ["read", "fs/readFile", (host) => host.request("fs/readFile", { path: "file:///a" })],
  ["list", "fs/readDirectory", (host) => host.files.list("/a")],
  ["walk", "fs/walk", (host) => host.files.walk("/a")],
  ["realpath", "fs/canonicalize", (host) => host.files.realpath("/a")],
  ["write", "fs/writeFile", (host) => host.files.write("/a", "x")],
  ["mkdir", "fs/createDirectory", (host) => host.files.mkdir("/a")],
  ["chmod", "fs/chmod", (host) => host.files.chmod("/a", 0o600)],
  ["readLink", "fs/readLink", (host) => host.files.readLink("/a")],
  ["symlink that replaces", "fs/symlink", (host) => host.files.symlink("b", "/a", { replace: true })],
  ["remove with force", "fs/remove", (host) => host.files.remove("/a", { force: true })],
])("%s is made again when its answer was lost", async (_, method, act) => {
  const { acting, second } = await lose(method, act);
  await acting;
  expect(second.requests.map((request) => request.method)).toEqual(["initialize", method]);
});

test.each<[string, string, Act]>([
  ["a plain mkdir", "fs/createDirectory", (host) => host.files.mkdir("/a", { recursive: false })],
  ["a plain remove", "fs/remove", (host) => host.files.remove("/a")],
  ["a plain symlink", "fs/symlink", (host) => host.files.symlink("b", "/a")],
  ["copy", "fs/copy", (host) => host.files.copy("/a", "/b")],
  ["rename", "fs/rename", (host) => host.files.rename("/a", "/b")],
  [
    "a block",
    "fs/writeBlock",
    (host) => host.request("fs/writeBlock", { handleId: "h", offset: 0, chunk: "" }),
  ],
  ["a start without a key", "process/start", (host) => host.start(["any"])],
  ["an interrupt", "process/signal", async (host) => (await host.start(["any"])).interrupt()],
  [
    "an HTTP request",
    "http/request",
    (host) => host.request("http/request", { method: "GET", url: "http://x/", requestId: "r" }),
  ],
])("%s is not made again, and says that its effect is not known", async (_, method, act) => {
  const { acting, second, host } = await lose(method, act);
  await expect(acting).rejects.toBeInstanceOf(ConnectionError);
  await expect(acting).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
  await expect(acting).rejects.toThrow(`whether ${method} took effect is not known`);
  await host.request("environment/info", {});
  expect(second.requests.map((request) => request.method)).not.toContain(method);
});

test("calls are made again in their order, and before those that were made later", async () => {
  const server = new FakeServer();
  server.answers.set("fs/writeFile", () => unanswered);
  const host = await open(server);
  const writes: Promise<void>[] = [];
  const write = (name: string): void => void writes.push(host.files.write(`/${name}`, "x"));
  for (const name of ["1", "2", "3"]) write(name);
  const [first] = server.connections;
  await first!.request("fs/writeFile", 3);
  first!.answer(await first!.request("fs/writeFile", 2), {});
  await writes[1];
  server.answers.set("fs/writeFile", () => ({}));
  // From within the news of the loss, and of the new connection.
  const stop = host.onStateChange((state) => write(state));
  first!.cut();
  const second = await server.connection(2);
  await second.request("fs/writeFile", 4);
  await inTime(Promise.all(writes), "the writes");
  stop();
  const paths = second.requests
    .filter(({ method }) => method === "fs/writeFile")
    .map(({ params }) => String(params["path"]));
  expect(paths).toEqual(["file:///1", "file:///3", "file:///recovering", "file:///connected"]);
});

test("a call that was given up is not made again", async () => {
  const server = new FakeServer();
  server.answers.set("fs/writeFile", () => unanswered);
  const host = await open(server);
  const controller = new AbortController();
  const writing = host.files.write("/a", "x", { signal: controller.signal });
  writing.catch(() => {});
  await server.connections[0]!.request("fs/writeFile");
  controller.abort(new Error("enough"));
  await expect(writing).rejects.toThrow("enough");
  server.connections[0]!.cut();
  const second = await server.connection(2);
  await inTime(host.request("environment/info", {}), "an answer");
  expect(second.requests.map(({ method }) => method)).toEqual(["initialize", "environment/info"]);
});

test("a call on which every connection ends is given up after some of them, and the session continues", async () => {
  const server = new FakeServer();
  server.answers.set("fs/readFile", (_, connection) => {
    connection.cut();
    return unanswered;
  });
  const host = await open(server);
  const asked = host.request("fs/readFile", { path: "file:///poison" });
  await expect(inTime(asked, "the end of the tries")).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
  await inTime(host.request("environment/info", {}), "an answer");
  expect(server.attempts).toBeLessThan(15);
  expect(host.state).toBe("connected");
});

test.each([
  ["that names the call", (id: number) => `{"id":${id},"result":[[[}`, true],
  ["that names nothing", () => "no JSON at all", false],
])("a call that gets an answer %s and cannot be read twice fails, and says so", async (_, text, isNamed) => {
  const server = new FakeServer();
  server.answers.set("fs/readDirectory", () => unanswered);
  server.answers.set("fs/getMetadata", () => unanswered);
  const host = await open(server);
  const listing = host.request("fs/readDirectory", { path: "file:///many" });
  const other = host.request("fs/getMetadata", { path: "file:///a" });
  const concerned: readonly Promise<unknown>[] = isNamed ? [listing] : [listing, other];
  const failed = concerned.map((call) =>
    expect(inTime(call, "the end of the tries")).rejects.toMatchObject({ code: "PROTOCOL_ERROR" }),
  );
  for (const nth of [1, 2]) {
    const connection = await server.connection(nth);
    const { id } = await connection.request("fs/readDirectory");
    await connection.request("fs/getMetadata");
    connection.sendText(text(id));
  }
  await Promise.all(failed);
  await expect(listing).rejects.toThrow(/^the answer to fs\/readDirectory cannot be read: /);
  const third = await server.connection(3);
  if (isNamed) third.answer(await third.request("fs/getMetadata"), answers["fs/getMetadata"]);
  if (isNamed) expect(await inTime(other, "the other call")).toMatchObject({ isFile: true });
  await inTime(host.request("environment/info", {}), "an answer");
  expect(third.requests.map(({ method }) => method)).not.toContain("fs/readDirectory");
});

test("connections that end at once use up the time for the recovery, in few tries", async () => {
  const server = new FakeServer();
  const host = await open(server, { recoveryTimeoutMs: 2_000 });
  server.answers.set("initialize", ({ resumeSessionId }, connection) => {
    setImmediate(() => connection.cut());
    return { sessionId: resumeSessionId as string };
  });
  const begun = performance.now();
  server.connections[0]!.cut();
  const { code } = await inTime(host.closed, "the end");
  expect(code).toBe("CONNECTION_CLOSED");
  expect(performance.now() - begun).toBeGreaterThan(1_500);
  expect(server.attempts).toBeLessThan(40);
});

test("a server that breaks the contract on every connection is not tried forever", async () => {
  const server = new FakeServer();
  const host = await open(server, { recoveryTimeoutMs: 1_000 });
  server.answers.set("initialize", ({ resumeSessionId }, connection) => {
    setImmediate(() => connection.notify("process/output", { processId: 5 }));
    return { sessionId: resumeSessionId as string };
  });
  server.connections[0]!.notify("process/output", { processId: 5 });
  await inTime(host.closed, "the end");
  expect(server.attempts).toBeLessThan(40);
});

test("aborted starts are ended once each, however many there are", async () => {
  const server = new FakeServer();
  server.answers.set("process/start", () => unanswered);
  server.answers.set("process/terminate", () => unanswered);
  const host = await open(server);
  const controller = new AbortController();
  const starts = Array.from({ length: 600 }, () => host.start(["any"], { signal: controller.signal }));
  const settled = Promise.allSettled(starts);
  const [connection] = server.connections;
  await connection!.request("process/start", 600);
  controller.abort();
  await inTime(settled, "the starts");
  await connection!.request("process/terminate", 600);
  // Starts and their ends are unanswered: that is more than there may be.
  await expect(host.request("environment/info", {})).rejects.toMatchObject({ code: "LIMIT_REACHED" });
  expect(connection!.requests.filter(({ method }) => method === "process/terminate")).toHaveLength(600);
  connection!.cut();
});
