import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { createDeferred } from "../../src/base/deferred.ts";
import { inboxOf, natsOptions } from "../../src/fleet/address.ts";
import { FleetLink } from "../../src/fleet/fleet-link.ts";
import { Mailboxes } from "../../src/fleet/mailboxes.ts";
import { NatsBus } from "../../src/fleet/nats-bus.ts";
import { reach } from "../../src/fleet/reach.ts";
import { Roster } from "../../src/fleet/roster.ts";
import { type ListeningServer, serve, type ServeOptions } from "../../src/server/index.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";
import { Relay } from "../fixtures/relay.ts";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const authentication = {
  mode: "capability-token",
  tokenSha256: createHash("sha256").update(TOKEN).digest(),
} as const;

/** What docs/fleet-protocol.md says about permissions. */
const CONFIG = `
authorization {
  users = [
    { user: exec-a, password: a, permissions: {
      subscribe: ["exec.a.>", "fleet.call"], publish: ["exec.a.beat", "_INBOX.>"] } }
    { user: exec-b, password: b, permissions: {
      subscribe: ["exec.b.>", "fleet.call"], publish: ["exec.b.beat", "_INBOX.>"] } }
    { user: client, password: c, permissions: {
      subscribe: ["_INBOX.client.>", "exec.*.beat"],
      publish: ["fleet.call", "exec.a.dial", "exec.a.*.*"] } }
  ]
}`;

let nats: NatsServer;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  nats = await startNats(CONFIG);
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await nats[Symbol.asyncDispose]();
});

const client = (): { servers: string; user: string; password: string; inbox: string } => ({
  servers: nats.url,
  user: "client",
  password: "c",
  inbox: "client",
});

async function executor(
  id: string,
  more: ServeOptions = {},
  {
    user = id,
    servers = nats.url,
    replaced = () => {},
  }: { user?: string; servers?: string; replaced?: () => void } = {},
): Promise<ListeningServer> {
  const server = await serve({
    environment: process.env,
    authentication,
    ...more,
    fleet: { servers, user: `exec-${user}`, password: user, id, replaced },
  });
  closing.push(() => server.close());
  return server;
}

test("an executor whose name another run has by now is given up as soon as NATS says that it is gone", async () => {
  await using relay = await Relay.open([nats.port]);
  const older = await executor("a", {}, { servers: `nats://127.0.0.1:${relay.port}` });
  const link = await FleetLink.open(client(), { timeoutMs: 20_000 }, () => {});
  closing.push(() => link.close());
  const reasons = await Promise.all(
    [link.dial("a", { token: TOKEN }), reach(client(), "a", { token: TOKEN })].map(async (dialling) => {
      const transport = await dialling;
      const closed = createDeferred<string | undefined>();
      transport.open({ message: () => {}, drain: () => {}, close: (reason) => closed.resolve(reason) });
      return closed;
    }),
  );
  // It does not hear that it is replaced, and then its system closes its connection, as that of a killed program.
  relay.silence();
  const newer = await executor("a");
  relay.cut();
  for (const { promise } of reasons) expect(await promise).toBe("executor a has been restarted");
  await Promise.all([older.close(), newer.close()]);
});

test("a client runs a command on an executor, with the token of its server", async () => {
  const refused: string[] = [];
  const server = await executor("a", {
    limits: { maxConnections: 1 },
    observers: [{ refused: ({ cause, reason }) => void refused.push(`${cause}: ${reason}`) }],
  });
  const host = await connect({ fleet: client(), id: "a" }, { token: TOKEN });
  expect((await host.run(["echo", "hello"])).stdout).toBe("hello\n");
  await expect(connect({ fleet: client(), id: "a" }, { token: "wrong" })).rejects.toMatchObject({
    code: "UNAUTHORIZED",
  });
  await expect(connect({ fleet: client(), id: "a" })).rejects.toThrow("missing websocket bearer token");
  await expect(connect({ fleet: client(), id: "a" }, { token: TOKEN })).rejects.toThrow(
    "the server has too many connections",
  );
  expect(refused).toEqual([
    "login: invalid websocket bearer token",
    "login: missing websocket bearer token",
    expect.stringContaining("limit: the server has too many connections"),
  ]);
  await host.close();
  await server.close();
  await expect(connect({ fleet: client(), id: "a" }, { token: TOKEN })).rejects.toThrow(
    "no executor of this name is connected to the fleet",
  );
});

test("a newer executor of the same name takes over, and the older one no longer serves anyone", async () => {
  let replaced = 0;
  const older = await executor("a", {}, { replaced: () => void (replaced += 1) });
  const host = await connect({ fleet: client(), id: "a" }, { token: TOKEN, recoveryTimeoutMs: 0 });
  const newer = await executor("a");
  await expect.poll(() => replaced, { timeout: 60_000 }).toBe(1);
  await expect(host.run(["true"])).rejects.toThrow();
  await host.close();
  await expect.poll(() => older.state().connections, { timeout: 60_000 }).toBe(0);
  const next = await connect({ fleet: client(), id: "a" }, { token: TOKEN });
  await expect.poll(() => newer.state().connections, { timeout: 60_000 }).toBe(1);
  await next.close();
  await Promise.all([older.close(), newer.close()]);
});

test("everyone learns at once that an executor is cordoned, that it is not any more, and that it drains", async () => {
  const server = await executor("a");
  const bus = await NatsBus.open(natsOptions(client()));
  const roster = new Roster(bus, new Mailboxes(bus, inboxOf(client()), () => true));
  try {
    await roster.ready;
    const states: string[] = [];
    roster.watch(({ kind, executor: { state } }) => void states.push(`${kind} ${state}`));
    const host = await connect({ fleet: client(), id: "a" }, { token: TOKEN });
    for (const cordoned of [true, true, false]) await host.request("server/cordon", { cordoned });
    const running = await host.start(["sleep", "60"]);
    await host.request("server/cordon", { cordoned: true });
    // Reachable all the same.
    expect((await host.run(["echo", "still"])).stdout).toBe("still\n");
    await host.request("server/cordon", { cordoned: false });
    const drained = server.drain();
    await expect(connect({ fleet: client(), id: "a" }, { token: TOKEN })).rejects.toThrow(
      "the server is closing",
    );
    await running.kill();
    await drained;
    await host.close();
    await server.close();
    await expect.poll(() => states.at(-1), { timeout: 60_000 }).toBe("left draining");
    // Beats with another load come at any time, also before the first change.
    expect(states.filter((state, at) => state !== (states[at - 1] ?? "changed ready"))).toEqual([
      "changed cordoned",
      "changed ready",
      "changed cordoned",
      "changed ready",
      "changed draining",
      "left draining",
    ]);
  } finally {
    roster.close();
    await bus.close();
  }
});

test("NATS keeps a client from executors that it may not reach, and says so at once", async () => {
  const server = await executor("b");
  await expect(connect({ fleet: client(), id: "b" }, { token: TOKEN })).rejects.toThrow(
    "failed to connect to executor b: NATS does not permit this client to use the subject exec.b.dial",
  );
  await expect(
    connect({ fleet: { ...client(), inbox: "somebody" }, id: "a" }, { token: TOKEN }),
  ).rejects.toThrow(
    /^failed to connect to executor a: NATS does not permit this client to use the subject _INBOX\.somebody\.[\w-]+\.\*$/,
  );
  await server.close();
});

test("an executor cannot pose as another one", async () => {
  await expect(executor("a", {}, { user: "b" })).rejects.toThrow(
    "NATS does not permit this executor to use the subject exec.a.",
  );
});

test("a user that NATS does not know gets an error", async () => {
  const fleet = { ...client(), password: "wrong" };
  await expect(connect({ fleet, id: "a" }, { token: TOKEN })).rejects.toThrow(
    /failed to connect to NATS: .*Authorization/i,
  );
});

test.each([
  [{ servers: [] }, "a fleet needs at least one NATS server"],
  [{ servers: "http://h" }, 'invalid fleet server "http://h"'],
  [{ servers: "nats://user:pass@h" }, "invalid fleet server"],
  [{ servers: "nats://h", user: "x" }, "a fleet login by user needs both `user` and `password`"],
  [
    { servers: "nats://h", nkey: "/n", user: "x", password: "y" },
    "only one of `credentials`, `nkey` and `user`",
  ],
  [{ servers: "nats://h", ca: "/ca" }, "`ca`, `cert` and `key` need servers with tls://"],
  [{ servers: ["nats://h", "tls://h"] }, "either all servers of a fleet have tls://, or none"],
  [{ servers: "nats://h", inbox: "a.b" }, "`inbox` must have"],
  [
    { servers: "tls://h", ca: "/dev/zero" },
    "cannot read the ca of the fleet in /dev/zero: it is not a regular",
  ],
  [{ servers: "tls://h", ca: "/none" }, "cannot read the ca of the fleet in /none: ENOENT"],
  [{ servers: "nats://127.0.0.1:1" }, "failed to connect to NATS: connection refused"],
])("the address %j is refused with a reason", async (fleet, reason) => {
  await expect(connect({ fleet, id: "a" })).rejects.toThrow(reason);
});

test("a server does not join a fleet without authentication", async () => {
  await expect(serve({ fleet: { servers: nats.url, id: "a" } })).rejects.toThrow(
    "refusing to join a fleet without authentication",
  );
});
