import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { nkeys } from "@nats-io/transport-node";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, openFleet } from "../../src/client/index.ts";
import { encodeBeat } from "../../src/fleet/beat-message.ts";
import { openBus } from "../../src/fleet/open-bus.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { createAuthority } from "../fixtures/certificates.ts";
import { type ExampleNats, startExampleNats } from "../fixtures/example-nats.ts";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const TIMEOUT = { timeoutMs: 30_000 };
const LIMITED = { token: TOKEN, connectTimeoutMs: 30_000 };

type User = Parameters<ExampleNats["address"]>[0];

let nats: ExampleNats;
let executors: ListeningServer[];

beforeAll(async () => {
  nats = await startExampleNats();
  const tokenSha256 = createHash("sha256").update(TOKEN).digest();
  executors = await Promise.all(
    (["web-1", "web-2"] as const).map((id) =>
      serve({
        listen: "none",
        environment: process.env,
        authentication: { mode: "capability-token", tokenSha256 },
        fleet: { ...nats.address(id), id },
      }),
    ),
  );
});
afterAll(async () => {
  await Promise.all(executors.map((executor) => executor.close()));
  await nats[Symbol.asyncDispose]();
});

/** Tries to receive from and to publish to these subjects as a user. Returns what NATS denied, and what arrived. */
async function attack(
  user: User,
  { read, write }: { read: readonly string[]; write: readonly string[] },
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<{ denied: string[]; received: string[] }> {
  const bus = await openBus(nats.address(user), TIMEOUT);
  const denied = new Set<string>();
  const received: string[] = [];
  bus.watch({ reconnected: () => {}, ended: () => {}, denied: (subject) => void denied.add(subject) });
  try {
    for (const subject of read) bus.subscribe(subject, (message) => void received.push(message.subject));
    for (const subject of write) bus.publish(subject, Buffer.from("forged"));
    await bus.flush();
    await meanwhile();
    await bus.flush();
    await nextTurn();
  } finally {
    await bus.close();
  }
  return { denied: [...denied].toSorted(), received };
}

/** A permitted user uses an executor. */
async function useExecutor(id: string, user: User = "olga"): Promise<string> {
  await using host = await connect({ fleet: nats.address(user), id }, LIMITED);
  return (await host.run(["echo", "private"])).stdout;
}

test("everyone can do what the example permits", async () => {
  expect(await useExecutor("web-1", "anna")).toBe("private\n");
  expect(await useExecutor("web-2")).toBe("private\n");
  for (const user of ["anna", "olga", "dashboard"] as const) {
    await using fleet = await openFleet(nats.address(user), LIMITED);
    expect(fleet.list().map(({ id }) => id)).toEqual(["web-1", "web-2"]);
  }
});

test("an executor reads nothing that is for another one or for clients, and cannot speak in their names", async () => {
  const read = [
    ">",
    "exec.>",
    "exec.*.beat",
    "exec.*.dial",
    "exec.web-2.>",
    "exec.web-2.dial",
    "_INBOX.>",
    "_INBOX.olga.>",
    "_INBOX.olga.*",
  ];
  const write = ["exec.web-2.beat", "exec.web-2.dial", "exec.web-2.run.connection", "fleet.call"];
  const { denied, received } = await attack("web-1", { read, write }, async () => {
    expect(await useExecutor("web-2")).toBe("private\n");
  });
  expect(denied).toEqual([...new Set([...read, ...write])].toSorted());
  expect(received).toEqual([]);
});

test("what a denied subscription would have received can be received by permitted users", async () => {
  const { denied, received } = await attack("web-2", { read: ["exec.web-2.>"], write: [] }, () =>
    useExecutor("web-2"),
  );
  expect(denied).toEqual([]);
  expect(received).toContain("exec.web-2.dial");
  expect(received.filter((subject) => /^exec\.web-2\.[^.]+\.[^.]+$/.test(subject)).length).toBeGreaterThan(2);
});

test.each([
  ["anna", ["web-2"]],
  ["dashboard", ["web-1", "web-2"]],
] as const)("%s cannot reach executors without the right to it: %j", async (user, ids) => {
  for (const id of ids) {
    await expect(connect({ fleet: nats.address(user), id }, LIMITED)).rejects.toThrow(
      `NATS does not permit this client to use the subject exec.${id}.dial`,
    );
    const write = [`exec.${id}.dial`, `exec.${id}.run.connection`];
    expect(await attack(user, { read: [], write })).toEqual({ denied: write.toSorted(), received: [] });
  }
});

test("a client reads no inbox but its own, nothing that is for executors, and forges no beat", async () => {
  const read = [">", "_INBOX.>", "_INBOX.olga.>", "_INBOX.*.*", "exec.>", "exec.web-1.>", "exec.web-1.dial"];
  const write = ["exec.web-1.beat", "exec.web-2.beat", "_INBOX.olga.connection"];
  const { denied, received } = await attack("anna", { read, write }, async () => {
    expect(await useExecutor("web-1")).toBe("private\n");
  });
  expect(denied).toEqual([...new Set([...read, ...write])].toSorted());
  expect(received).toEqual([]);
  await expect(
    connect({ fleet: { ...nats.address("anna"), inbox: "olga" }, id: "web-1" }, LIMITED),
  ).rejects.toThrow(/NATS does not permit this client to use the subject _INBOX\.olga\.[\w-]+\.\*/);
});

test("an executor that speaks for another one on its own subject is not believed", async () => {
  await using fleet = await openFleet(nats.address("dashboard"), LIMITED);
  const before = fleet.list().find(({ id }) => id === "web-2");
  const bus = await openBus(nats.address("web-1"), TIMEOUT);
  const beat = {
    id: "web-2",
    run: "forged",
    since: Date.now() + 1e9,
    labels: {},
    running: 0,
    free: 99,
    load: 0,
  };
  for (const state of ["ready", "gone"] as const)
    bus.publish("exec.web-1.beat", encodeBeat({ ...beat, state }));
  await bus.flush();
  await bus.close();
  expect(await useExecutor("web-2")).toBe("private\n");
  expect(fleet.list().find(({ id }) => id === "web-2")).toMatchObject({ since: before!.since });
});

test.each([
  ["a wrong token", { ...LIMITED, token: "wrong" }, "invalid websocket bearer token"],
  ["no token", { connectTimeoutMs: 30_000 }, "missing websocket bearer token"],
])("whoever may use NATS still needs the token of the server: %s is refused", async (_, options, reason) => {
  const refused = connect({ fleet: nats.address("olga"), id: "web-1" }, options);
  await expect(refused).rejects.toMatchObject({
    code: "UNAUTHORIZED",
    message: expect.stringContaining(reason),
  });
});

test("a client without a listed key cannot log in", async () => {
  const nkey = join(nats.authority.directory, "stranger.nk");
  await writeFile(nkey, nkeys.createUser().getSeed());
  const { nkey: _, inbox: __, ...bare } = nats.address("olga");
  for (const stranger of [bare, { ...bare, nkey }, { ...bare, user: "olga", password: "olga" }])
    await expect(openBus(stranger, TIMEOUT)).rejects.toThrow(/failed to connect to NATS: .*Authorization/i);
});

test("a NATS server with a certificate of someone else is not trusted", async () => {
  using others = createAuthority();
  await expect(openBus({ ...nats.address("olga"), ca: others.ca }, TIMEOUT)).rejects.toThrow(
    "failed to connect to NATS: the server's certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)",
  );
});

test("an impostor of NATS without TLS learns nothing", async () => {
  let received = 0;
  const impostor = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => (received += bytes.length));
    socket.write('INFO {"server_id":"x","version":"2.9.10","max_payload":1048576,"proto":1}\r\n');
  });
  impostor.listen(0, "127.0.0.1");
  await once(impostor, "listening");
  try {
    const servers = `tls://127.0.0.1:${(impostor.address() as AddressInfo).port}`;
    const { nkey: _, ...bare } = nats.address("olga");
    const fleet = { ...bare, servers, user: "olga", password: "a secret" };
    await expect(openBus(fleet, TIMEOUT)).rejects.toThrow(
      "the server does not speak TLS; connect with nats:// only if it is meant to run without TLS",
    );
    expect(received).toBe(0);
  } finally {
    impostor.close();
  }
});
