import { randomUUID } from "node:crypto";
import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "./deadline.ts";
import { TRACEABLE, UNTRACEABLE } from "./escaping-kinds.ts";
import {
  awaitMarked,
  awaitNoneLeft,
  type Kind,
  killMarked,
  startReady,
  wardenOf,
} from "./marked-processes.ts";
import { commandLine, descendantsOf } from "./proc-fs.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, RpcFailure, type SessionClient, startParams } from "./session-client.ts";

const DEADLINE_MS = 60_000;
/** Long enough to take all descriptors before, whatever the machine does. */
const TIMEOUT_MS = 20_000;
const GRACE_MS = 300;
const GONE_DEADLINE_MS = TIMEOUT_MS + 60_000;
const SESSION_TTL_MS = 50;
const OPEN_FILES = 96;
const EMFILE = { code: "SPAWN_FAILED", reason: "limit", errno: "EMFILE" };

const markers: string[] = [];

afterEach(() => {
  for (const marker of markers.splice(0)) killMarked(marker);
});

function newMarker(): string {
  const marker = `no-descriptors-${randomUUID()}`;
  markers.push(marker);
  return marker;
}

/** A family that must be traced through /proc to be ended, on pipes and on a terminal. */
const FAMILIES: readonly Kind[] = TRACEABLE.filter(({ name }) =>
  [
    "a double fork with its own session",
    "a double fork with its own session, off a terminal",
    "a child with its own session and descriptors",
    "a child with its own session and descriptors that ignores SIGTERM",
    "a background job whose parent has exited",
  ].includes(name),
);

const limited = (args: readonly string[] = []): Promise<ServerUnderTest> =>
  startServer({ through: ["prlimit", `--nofile=${OPEN_FILES}`], args });

/**
 * Takes every descriptor that the server gives away: with files, then with silent connections. Returns a function that
 * releases them.
 */
async function exhaust(server: ServerUnderTest, client: SessionClient): Promise<() => Promise<void>> {
  let opened = 0;
  const refusal = await failureOf(
    (async () => {
      for (; opened < OPEN_FILES; opened += 1)
        await client.request("fs/open", { handleId: `h${opened}`, path: "file:///etc/passwd" });
    })(),
  );
  expect(refusal.message).toContain("No file descriptors available (os error 24)");
  const strangers = await Promise.all(Array.from({ length: 8 }, () => connectSilently(server.port)));
  return async () => {
    for (const stranger of strangers) stranger.destroy();
    for (let i = 0; i < opened; i += 1) await client.request("fs/close", { handleId: `h${i}` });
  };
}

async function connectSilently(port: number): Promise<net.Socket> {
  const socket = net.connect({ host: "127.0.0.1", port });
  // Being turned away is what is expected.
  socket.on("error", () => {});
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve);
    socket.once("close", () => resolve());
  });
  return socket;
}

async function failureOf(promise: Promise<unknown>): Promise<RpcFailure> {
  const failure: unknown = await promise.then(
    (result) => new Error(`expected a failure, got ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );
  if (failure instanceof RpcFailure) return failure;
  throw failure;
}

/** New connections, files, and processes of every kind. */
async function expectWorking(server: ServerUnderTest): Promise<void> {
  const marker = newMarker();
  const kinds: Kind[] = [
    { name: "on pipes", script: "echo ready; exec sleep 1000" },
    { name: "on a terminal", script: "echo ready; exec sleep 1000", tty: true },
  ];
  const { client } = await startReady(server.url, kinds, marker);
  for (const { name } of kinds)
    expect(await client.request("process/terminate", { processId: name, mode: "now" })).toEqual({
      running: true,
    });
  await awaitNoneLeft(marker);
  await client.request("fs/readFile", { path: "file:///etc/passwd" });
  client.cut();
}

const canContain = async (client: SessionClient): Promise<boolean> =>
  client.request("process/start", { ...startParams("probe", ["true"]), contain: true }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof RpcFailure) return false;
      throw error;
    },
  );

interface End {
  readonly name: string;
  readonly more?: object;
  readonly end: (client: SessionClient, processId: string) => Promise<unknown>;
}

const ENDS: readonly End[] = [
  {
    name: "process/terminate at once",
    end: (client, processId) => client.request("process/terminate", { processId, mode: "now" }),
  },
  {
    name: "a graceful process/terminate",
    end: (client, processId) =>
      client.request("process/terminate", { processId, mode: "graceful", timeoutMs: GRACE_MS }),
  },
  { name: "a time limit", more: { timeoutMs: TIMEOUT_MS }, end: async () => {} },
];

describe("a server without free descriptors", () => {
  it.each(ENDS)("ends whole families by $name, and works again afterwards", async ({ more, end }) => {
    await using server = await limited();
    const marker = newMarker();
    const { client } = await startReady(server.url, FAMILIES, marker, more);
    const release = await exhaust(server, client);
    await awaitMarked(marker, FAMILIES.length);
    for (const { name } of FAMILIES) await end(client, name);
    await awaitNoneLeft(marker, [], GONE_DEADLINE_MS);
    expect(await client.request("environment/status")).toEqual({ status: "ready" });
    await release();
    await expectWorking(server);
  });

  it("ends what is contained", async () => {
    await using server = await limited(["--detached-session-ttl-ms", String(SESSION_TTL_MS)]);
    const asking = await openSession(server.url);
    if (!(await canContain(asking))) return;
    const marker = newMarker();
    for (const { more, end } of ENDS) {
      const { client } = await startReady(server.url, [UNTRACEABLE], marker, { contain: true, ...more });
      const release = await exhaust(server, asking);
      await awaitMarked(marker, 2);
      await end(client, UNTRACEABLE.name);
      await awaitNoneLeft(marker, [], GONE_DEADLINE_MS);
      await release();
      client.cut();
    }
    await expectWorking(server);
  });

  it("kills a process group when no mode is named, and when a session ends", async () => {
    await using server = await limited(["--detached-session-ttl-ms", String(SESSION_TTL_MS)]);
    const bystander = await openSession(server.url);
    const kinds: Kind[] = [
      { name: "terminated", script: "sleep 1000 & echo ready; wait" },
      { name: "left", script: "sleep 1000 & echo ready; wait" },
    ];
    const marker = newMarker();
    const { client } = await startReady(server.url, kinds, marker);
    const release = await exhaust(server, bystander);
    await client.request("process/terminate", { processId: "terminated" });
    client.cut();
    await awaitNoneLeft(marker);
    await release();
    await expectWorking(server);
  });

  it("refuses a start by the name of the reason, and leaves nothing of it", async () => {
    await using server = await limited();
    const client = await openSession(server.url);
    const release = await exhaust(server, client);
    for (const how of [{ tty: false }, { tty: true }, { limits: { openFiles: 100 } }]) {
      const failure = await failureOf(
        client.request("process/start", startParams("refused", ["sleep", "1000"], how)),
      );
      expect({ code: failure.code, data: failure.data }).toEqual({ code: -32603, data: EMFILE });
    }
    await release();
    await expectWorking(server);
    expect(descendantsOf(server.pid).filter(({ pid }) => commandLine(pid).startsWith("sleep"))).toEqual([]);
  });

  it("turns new clients away by the name of the reason as long as it has descriptors to say so", async () => {
    await using server = await limited();
    const clients: SessionClient[] = [];
    const connect = async (): Promise<void> => {
      clients.push(await openSession(server.url));
    };
    const refusal: unknown = await pollUntil(
      () =>
        connect().then(
          () => false as const,
          (error: unknown) => error,
        ),
      DEADLINE_MS,
      () => "a refusal",
    );
    expect(String(refusal)).toContain("503");
    // Existing clients can continue.
    const marker = newMarker();
    const [first, ...others] = clients;
    await first!.request("process/start", startParams("p", ["sleep", "1000", marker]));
    await first!.request("process/terminate", { processId: "p", mode: "now" });
    await awaitNoneLeft(marker);
    for (const other of others) other.cut();
    await pollUntil(
      () =>
        connect().then(
          () => true,
          () => false,
        ),
      DEADLINE_MS,
      () => "a connection",
    );
    await expectWorking(server);
  });

  it("gets another warden once there are descriptors again", async () => {
    await using server = await limited();
    const marker = newMarker();
    const kind: Kind = { name: "guarded", script: "sleep 1000 & echo ready; wait" };
    const { client } = await startReady(server.url, [kind], marker);
    const first = await wardenOf(server.pid);
    const release = await exhaust(server, client);
    process.kill(first, "SIGKILL");
    await pollUntil(
      () => !descendantsOf(server.pid).some(({ pid }) => pid === first),
      DEADLINE_MS,
      () => "the end of the warden",
    );
    expect(await client.request("environment/status")).toEqual({ status: "ready" });
    await release();
    await wardenOf(server.pid);
    await server.kill("SIGKILL");
    await awaitNoneLeft(marker);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("stops on %s and leaves nothing", async (signal) => {
    await using server = await limited();
    const marker = newMarker();
    const { client } = await startReady(
      server.url,
      [TRACEABLE[2]!, { name: "plain", script: "echo ready; exec sleep 1000" }],
      marker,
    );
    const contained = await canContain(client);
    if (contained) await startReady(server.url, [UNTRACEABLE], marker, { contain: true });
    await exhaust(server, client);
    expect(await withDeadline(server.kill(signal), DEADLINE_MS, () => "the server's end")).toEqual({
      code: 0,
      signal: null,
    });
    await awaitNoneLeft(marker);
  });
});
