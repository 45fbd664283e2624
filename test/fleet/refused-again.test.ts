import { execFileSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { freePort } from "../fixtures/free-port.ts";
import { type NatsServer, startNatsFile } from "../fixtures/nats-server.ts";

const SOON = { timeout: 60_000 };

const directory = mkdtempSync(join(tmpdir(), "refused-again-"));
const key = join(directory, "executor.nk");
const config = join(directory, "nats.conf");
const pair = nkeys.createUser();
const lines: string[] = [];
/** What NATS logs. */
const heard: string[] = [];
let port: number;
let nats: NatsServer;
let server: ListeningServer;

beforeAll(async () => {
  port = await freePort();
  writeFileSync(key, pair.getSeed(), { mode: 0o600 });
  configure();
  nats = await startNatsFile(config, port, (line) => void heard.push(line));
  const log = (message: string, { reason }: { reason?: unknown } = {}): void =>
    void lines.push(typeof reason === "string" ? `${message}: ${reason}` : message);
  server = await serve({
    listen: "none",
    environment: process.env,
    insecureNoAuth: true,
    logger: { debug: () => {}, info: () => {}, warn: log, error: log },
    fleet: { servers: nats.url, nkey: key, id: "a" },
  });
});
afterAll(async () => {
  await server.close();
  await nats[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** What NATS reads when it starts. */
function configure({ executor = pair.getPublicKey(), more = "" } = {}): void {
  const users = `{ nkey: ${executor} }, { user: anna, password: a }`;
  writeFileSync(config, `listen: "127.0.0.1:${port}"\nauthorization { users = [ ${users} ] }\n${more}\n`);
}

/** NATS starts with another configuration. The log is about the time since. */
async function restart(options: Parameters<typeof configure>[0] = {}): Promise<void> {
  await nats.kill();
  lines.length = 0;
  heard.length = 0;
  configure(options);
  await nats.start();
}

async function echo(text: string): Promise<string> {
  const fleet = { servers: nats.url, user: "anna", password: "a" };
  await using host = await connect({ fleet, id: "a" });
  return (await host.run(["echo", text])).stdout;
}

const LOST = "the connection to the fleet is lost";
const BACK = "reconnected to the fleet";
const backAgain = (): Promise<void> => expect.poll(() => lines, SOON).toContain(BACK);

test("an executor whose key file is gone while NATS restarts comes back all the same", async () => {
  renameSync(key, `${key}.old`);
  await restart();
  await backAgain();
  expect(await echo("one")).toBe("one\n");
  // Half of a new one has been written.
  writeFileSync(key, "SU");
  await restart();
  await backAgain();
  expect(await echo("two")).toBe("two\n");
  // A pipe without a writer is there instead.
  rmSync(key);
  execFileSync("mkfifo", [key]);
  await restart();
  await backAgain();
  expect(await echo("three")).toBe("three\n");
  renameSync(`${key}.old`, key);
});

test("an executor that NATS does not let in again says why, once, and comes back when it may", async () => {
  await restart({ executor: nkeys.createUser().getPublicKey() });
  const refused = (line: string): boolean => line.includes("authentication error");
  await expect.poll(() => heard.filter(refused).length, SOON).toBeGreaterThan(5);
  expect(lines.filter((line) => line !== LOST)).toEqual([
    expect.stringMatching(/^cannot rejoin the fleet yet: it refused the login \(.*authorization/i),
  ]);
  await restart();
  await backAgain();
  expect(await echo("again")).toBe("again\n");
  expect(lines).toEqual([BACK]);
});

test("a NATS server that allows short messages only is told, breaks nothing, and is used when it allows longer ones", async () => {
  await restart({ more: "max_payload: 1024" });
  await expect
    .poll(() => lines, SOON)
    .toContainEqual(
      expect.stringContaining("allows messages of 1024 bytes at most: set its max_payload to 1MB"),
    );
  await expect(echo("short")).rejects.toThrow("allows messages of 1024 bytes at most");
  expect(lines).not.toContain(BACK);
  await restart();
  await backAgain();
  expect(await echo("long")).toBe("long\n");
});
