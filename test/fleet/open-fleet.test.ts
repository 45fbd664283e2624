import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Executor, type ExecutorChange, type Fleet, openFleet } from "../../src/client/index.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const authentication = {
  mode: "capability-token",
  tokenSha256: createHash("sha256").update(TOKEN).digest(),
} as const;
const SOON = { timeout: 60_000 };

/** Three executors, two that join later, and one client: hosts must not have connections of their own. */
const CONFIG = `
max_connections: 6
authorization {
  users = [
    { user: exec, password: e }
    { user: all, password: a }
    { user: deaf, password: d, permissions: { subscribe: ["_INBOX.deaf.>"], publish: [">"] } }
    { user: mute, password: m, permissions: { subscribe: [">"], publish: ["exec.>"] } }
  ]
}`;

let nats: NatsServer;
let servers: ListeningServer[];

beforeAll(async () => {
  nats = await startNats(CONFIG);
  servers = await Promise.all([
    executor("web-1", { zone: "eu" }, 3),
    executor("web-2", { zone: "us" }, 5),
    executor("web-3", { zone: "eu" }, 2),
  ]);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await nats[Symbol.asyncDispose]();
});

function executor(id: string, labels: Record<string, string>, slots: number): Promise<ListeningServer> {
  const fleet = { servers: nats.url, user: "exec", password: "e", id, labels, slots };
  return serve({ environment: process.env, authentication, fleet });
}

const enter = (user = "all", more: object = {}): Promise<Fleet> =>
  openFleet(
    { servers: nats.url, user, password: user[0]!, ...(user === "all" ? {} : { inbox: user }) },
    { token: TOKEN, ...more },
  );

test("the executors are listed when the fleet is open, and chosen by labels and free slots", async () => {
  await using fleet = await enter();
  const now = Date.now();
  const [first] = fleet.list();
  expect(first).toEqual({
    id: "web-1",
    labels: { zone: "eu" },
    running: 0,
    free: 3,
    load: expect.any(Number),
    state: "ready",
    since: expect.any(Number),
  } satisfies Executor);
  expect(Math.abs(now - first!.since)).toBeLessThan(60_000);
  expect(fleet.list().map(({ id }) => id)).toEqual(["web-1", "web-2", "web-3"]);
  expect(fleet.pick().id).toBe("web-2");
  expect(fleet.pick({ labels: { zone: "eu" } }).id).toBe("web-1");
  expect(() => fleet.pick({ labels: { zone: "mars" } })).toThrow(
    "none of the 3 executors of the fleet has the label zone=mars",
  );
});

test("executors that are picked one after the other get as much as they have room for", async () => {
  await using fleet = await enter();
  const picked = Array.from({ length: 10 }, () => fleet.pick().id).sort();
  expect(picked.join(" ")).toBe("web-1 web-1 web-1 web-2 web-2 web-2 web-2 web-2 web-3 web-3");
});

test("a cordoned executor is not picked, and stays reachable", async () => {
  await using fleet = await enter();
  const states = (): string[] => fleet.list().map(({ state }) => state);
  await fleet.cordon("web-2");
  expect(states()).toEqual(["ready", "cordoned", "ready"]);
  expect(fleet.pick().id).toBe("web-1");
  expect(() => fleet.pick({ labels: { zone: "us" } })).toThrow(
    "no executor with zone=us is ready: web-2 is cordoned",
  );
  const host = await fleet.connect("web-2");
  expect((await host.run(["echo", "on"])).stdout).toBe("on\n");
  // It has nothing new to tell about itself, but what it runs has changed since its last beat.
  const sleep = await host.start(["sleep", "60"]);
  await fleet.cordon("web-2");
  expect(fleet.list()[1]).toMatchObject({ state: "cordoned", running: 1, free: 4 });
  await sleep.kill();
  await fleet.uncordon("web-2");
  expect(states()).toEqual(["ready", "ready", "ready"]);
  await expect(fleet.cordon("web-9")).rejects.toThrow("no executor of this name is connected to the fleet");
});

test("hosts of one fleet share its connection to NATS and survive that NATS restarts", async () => {
  await using fleet = await enter();
  const states: string[] = [];
  fleet.onStateChange((state) => void states.push(state));
  const hosts = await Promise.all(["web-1", "web-2", "web-3"].map((id) => fleet.connect(id)));
  const outputs = (): Promise<string[]> =>
    Promise.all(hosts.map(async (host, at) => (await host.run(["echo", `${at}`])).stdout));
  expect(await outputs()).toEqual(["0\n", "1\n", "2\n"]);
  // The end of an earlier fleet may not have arrived yet.
  await expect.poll(() => servers.map((server) => server.state().connections), SOON).toEqual([1, 1, 1]);
  await nats.kill();
  await expect.poll(() => fleet.state, SOON).toBe("recovering");
  await nats.start();
  expect(await outputs()).toEqual(["0\n", "1\n", "2\n"]);
  expect(fleet.state).toBe("connected");
  expect(states).toEqual(["recovering", "connected"]);
  expect(fleet.list()).toHaveLength(3);
});

test("a watcher learns who joins, changes and leaves, and one that throws does not stop the others", async () => {
  const faults: string[] = [];
  const log = (message: string): void => void faults.push(message);
  await using fleet = await enter("all", { logger: { debug: log, info: log, warn: log, error: log } });
  const changes: string[] = [];
  const told = ({ kind, executor: { id, running } }: ExecutorChange): void =>
    void (id === "late" && changes.push(`${kind} ${running}`));
  fleet.watch(() => {
    throw new Error("odd");
  });
  const stop = fleet.watch(told);
  const server = await executor("late", {}, 1);
  // A beat with another load may have followed.
  await expect.poll(() => changes[0], SOON).toBe("joined 0");
  const host = await fleet.connect("late");
  const sleep = await host.start(["sleep", "60"]);
  await expect.poll(() => changes, SOON).toContain("changed 1");
  await sleep.kill();
  await server.close();
  await expect.poll(() => changes.at(-1), SOON).toMatch(/^left/);
  expect(changes.filter((change) => change.startsWith("joined"))).toEqual(["joined 0"]);
  expect(fleet.list().map(({ id }) => id)).not.toContain("late");
  expect(faults).toContain("a watcher of the fleet failed");
  stop();
  const count = changes.length;
  await (await executor("late", {}, 1)).close();
  expect(changes).toHaveLength(count);
});

test("an executor that starts again is the same one in the list, and its hosts learn that their session is over", async () => {
  await using fleet = await enter();
  const first = await executor("again", { zone: "eu" }, 1);
  await expect.poll(() => fleet.list().map(({ id }) => id), SOON).toContain("again");
  const changes: string[] = [];
  fleet.watch(({ kind, executor: { id, labels } }) => {
    if (id === "again") changes.push(`${kind} ${labels["zone"]}`);
  });
  const host = await fleet.connect("again");
  const second = await executor("again", { zone: "us" }, 1);
  expect(await host.closed).toMatchObject({ code: "SESSION_LOST" });
  const next = await fleet.connect("again");
  expect((await next.run(["echo", "on"])).stdout).toBe("on\n");
  // The older one is still connected to NATS, but does not appear to leave.
  expect(changes.filter((change) => !change.startsWith("changed"))).toEqual([]);
  await expect.poll(() => changes.at(-1), SOON).toBe("changed us");
  await next.close();
  await Promise.all([first.close(), second.close()]);
});

test("closing the fleet closes its hosts, ends attempts to connect, and can be repeated", async () => {
  const fleet = await enter();
  const host = await fleet.connect("web-1");
  const attempt = fleet.connect("web-2");
  const refused = expect(attempt).rejects.toThrow("the fleet is closed");
  await Promise.all([fleet.close(), fleet.close()]);
  await refused;
  expect((await host.closed).reason).toBeUndefined();
  expect([host.state, fleet.state]).toEqual(["closed", "closed"]);
  await expect(fleet.connect("web-1")).rejects.toThrow("the fleet is closed");
  await expect.poll(() => servers[0]!.state().connections, SOON).toBe(0);
});

test("a fleet can be closed while NATS is away", async () => {
  const fleet = await enter();
  const host = await fleet.connect("web-1");
  await nats.kill();
  await expect.poll(() => fleet.state, SOON).toBe("recovering");
  const before = performance.now();
  await fleet.close();
  // Its host would keep trying for half a minute.
  expect(performance.now() - before).toBeLessThan(15_000);
  expect(host.state).toBe("closed");
  await nats.start();
  await using next = await enter();
  await expect.poll(() => next.list(), SOON).toHaveLength(3);
});

test("the caller cancels an attempt, and the token of one connection can be another one", async () => {
  await using fleet = await enter();
  await expect(fleet.connect("web-1", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
    "enough",
  );
  await expect(fleet.connect("web-1", { token: "wrong" })).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  await expect(fleet.connect("web-9")).rejects.toThrow(
    "failed to connect to executor web-9: no executor of this name is connected to the fleet",
  );
  await expect(fleet.connect("no name")).rejects.toMatchObject({ code: "USAGE" });
  await expect(
    openFleet({ servers: nats.url }, { signal: AbortSignal.abort(new Error("no")) }),
  ).rejects.toThrow("no");
});

test.each([
  ["deaf", "exec.*.beat"],
  ["mute", "fleet.call"],
])("a client that may not list executors is told why: %s", async (user, subject) => {
  await expect(enter(user)).rejects.toMatchObject({
    message: `NATS does not permit this client to list the executors: it may not use the subject ${subject}`,
    status: 403,
  });
});

test.each([
  [{ servers: "nats://127.0.0.1:1" }, "CONNECTION_REFUSED", "failed to connect to NATS: connection refused"],
  [{ servers: [] }, "USAGE", "a fleet needs at least one NATS server"],
  [{ servers: "nats://h", inbox: "a.b" }, "USAGE", "`inbox` must have"],
])("a fleet at %j is not opened", async (address, code, message) => {
  await expect(openFleet(address)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
});

test("a server that is no NATS is given up in time", async () => {
  const { createServer } = await import("node:net");
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  try {
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    await expect(
      openFleet({ servers: `nats://127.0.0.1:${port}` }, { connectTimeoutMs: 300 }),
    ).rejects.toThrow("failed to connect to NATS");
  } finally {
    silent.close();
  }
});
