import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, openFleet } from "../../src/client/index.ts";
import { openBus } from "../../src/fleet/open-bus.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import type { Issued } from "../fixtures/certificates.ts";
import { type ExampleNats, startExampleNats } from "../fixtures/example-nats.ts";
import { freePort } from "../fixtures/free-port.ts";
import { startNatsFile } from "../fixtures/nats-server.ts";

const POLL = { timeout: 90_000 };
const DEADLINE_MS = 90_000;

let nats: ExampleNats;
let executor: ListeningServer;
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync("/var/tmp/exec-server-rogue-");
  nats = await startExampleNats(3);
  executor = await serve({
    listen: "none",
    environment: process.env,
    insecureNoAuth: true,
    fleet: { ...nats.address("web-1", [0, 1, 2]), id: "web-1" },
  });
});
afterAll(async () => {
  await executor.close();
  await nats[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

test("an executor is reached from every node, and every node that is lost is survived without a lost byte", async () => {
  for (const node of [0, 1, 2]) {
    const fleet = nats.address("olga", [node]);
    await expect.poll(async () => (await connect({ fleet, id: "web-1" })).close(), POLL).toBeUndefined();
  }
  await using fleet = await openFleet(nats.address("olga"), { connectTimeoutMs: 20_000 });
  await using host = await fleet.connect("web-1");
  const script = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); echo line $i; done";
  for (const node of nats.servers) {
    const started = await host.start(["sh", "-c", script]);
    await node.kill();
    let text = "";
    for await (const { bytes } of started.output()) text += Buffer.from(bytes).toString();
    expect(text).toBe(Array.from({ length: 40_000 }, (_, at) => `line ${at + 1}\n`).join(""));
    expect((await started.exited).exitCode).toBe(0);
    await node.start();
  }
  // It may have been silent for long, on its way to another node.
  await expect.poll(() => fleet.list().map(({ id }) => id), POLL).toEqual(["web-1"]);
});

/** A foreign NATS server that tries to become one of the nodes. Returns what a spy on it could read. */
async function pose(name: string, own: Issued | undefined, isNode = false): Promise<string[]> {
  const until = isNode ? /Route connection created/ : /Router connection closed|handshake error/;
  const [port, routePort] = [await freePort(), await freePort()];
  const tls = own && `tls { cert_file: "${own.cert}", key_file: "${own.key}", ca_file: "${nats.nodes.ca}" }`;
  const file = join(directory, `${name}.conf`);
  const routes = nats.routePorts.map((at) => `"nats://127.0.0.1:${at}"`).join(", ");
  await writeFile(
    file,
    `server_name: ${name}\nlisten: "127.0.0.1:${port}"
     cluster { name: fleet, listen: "127.0.0.1:${routePort}", ${tls === undefined ? "" : `${tls},`} routes: [ ${routes} ] }`,
  );
  let heard = (): void => {};
  const lines: string[] = [];
  const told = new Promise<void>((resolve) => (heard = resolve));
  const rogue = await startNatsFile(file, port, (line) => {
    lines.push(line);
    if (until.test(line)) heard();
  });
  try {
    const bus = await openBus({ servers: rogue.url }, { timeoutMs: DEADLINE_MS });
    const received: string[] = [];
    bus.subscribe(">", ({ subject }) => void received.push(subject));
    await bus.flush();
    await withDeadline(told, DEADLINE_MS, () => `${until} in ${lines.join("\n")}`);
    const fleet = nats.address("olga");
    await using host = await connect({ fleet, id: "web-1" });
    const read = async (): Promise<string[]> => {
      expect((await host.run(["echo", "private"])).stdout).toBe("private\n");
      await bus.flush();
      return received.filter((subject) => subject.startsWith("exec.") || subject.startsWith("_INBOX."));
    };
    // What a spy wants reaches the other nodes a moment later.
    if (isNode) await expect.poll(async () => (await read()).length, POLL).toBeGreaterThan(0);
    const got = await read();
    await bus.close();
    return got;
  } finally {
    await rogue.kill();
  }
}

test("nobody becomes a node of the cluster without a certificate of its authority", async () => {
  expect(await pose("bare", undefined)).toEqual([]);
  const foreign = nats.authority.issue("foreign");
  expect(await pose("foreign", foreign)).toEqual([]);
  // With one, it would read everything.
  const issued = nats.nodes.issue("rogue");
  expect((await pose("node", issued, true)).length).toBeGreaterThan(0);
});
