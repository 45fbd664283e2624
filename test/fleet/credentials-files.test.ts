import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { openBus } from "../../src/fleet/open-bus.ts";
import { serve } from "../../src/server/index.ts";
import { createOperator, type JwtOperator } from "../fixtures/nats-jwt.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";

const EXECUTOR = {
  subscribe: ["exec.web-1.>", "fleet.call"],
  publish: ["exec.web-1.beat", "_INBOX.>"],
};
const CLIENT = {
  subscribe: ["_INBOX.anna.>", "exec.*.beat"],
  publish: ["fleet.call", "exec.web-1.dial", "exec.web-1.*.*"],
};
/** NATS takes an empty list for no restriction. */
const STRANGER = { subscribe: ["_INBOX.eve.>"], publish: ["nothing"] };
const TIMEOUT = { timeoutMs: 30_000 };

let directory: string;
let operator: JwtOperator;
let nats: NatsServer;

beforeAll(async () => {
  directory = mkdtempSync("/var/tmp/exec-server-creds-");
  operator = createOperator(directory);
  nats = await startNats(operator.config);
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

test("executors and clients enter a fleet with credentials files, and may do what is signed in them", async () => {
  const enter = (name: string, permissions: typeof EXECUTOR): { servers: string; credentials: string } => ({
    servers: nats.url,
    credentials: operator.issue(name, permissions),
  });
  await using _server = await serve({
    listen: "none",
    environment: process.env,
    insecureNoAuth: true,
    fleet: { ...enter("web-1", EXECUTOR), id: "web-1" },
  });
  const anna = { ...enter("anna", CLIENT), inbox: "anna" };
  await using host = await connect({ fleet: anna, id: "web-1" });
  expect((await host.run(["echo", "hello"])).stdout).toBe("hello\n");
  await nats.kill();
  await nats.start();
  expect((await host.run(["echo", "again"])).stdout).toBe("again\n");
  const eve = { ...enter("eve", STRANGER), inbox: "eve" };
  await expect(connect({ fleet: eve, id: "web-1" })).rejects.toThrow(
    "NATS does not permit this client to use the subject exec.web-1.dial",
  );
});

test("credentials that have expired, or that another operator has signed, are refused", async () => {
  const expired = operator.issue("late", CLIENT, -60);
  const foreign = createOperator(directory).issue("foreign", CLIENT);
  for (const credentials of [expired, foreign])
    await expect(openBus({ servers: nats.url, credentials }, TIMEOUT)).rejects.toThrow(
      /failed to connect to NATS: .*Authori[sz]ation|expired/i,
    );
  await expect(
    openBus({ servers: nats.url, credentials: join(directory, "missing.creds") }, TIMEOUT),
  ).rejects.toThrow("cannot read the credentials of the fleet");
});
