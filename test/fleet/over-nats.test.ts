import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Host } from "../../src/client/index.ts";
import { createServer, type Server } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { type FleetScene, openFleetScene } from "../fixtures/fleet-scene.ts";

const FLOOD_MB = Number(process.env["FLEET_FLOOD_MB"] ?? 30);
/** NATS is killed when this much has arrived. */
const CUTS = [FLOOD_MB * 100_000, FLOOD_MB * 500_000];

let server: Server & { close(): Promise<void> };
let scene: FleetScene;

beforeAll(async () => {
  // On a slow machine a restart may take so long that the session is resumed, which needs what was on its way.
  const limits = { maxRetainedBytesPerProcess: 2 * FLOOD_MB * 1_000_000 };
  server = createServer({ environment: process.env, limits });
  scene = await openFleetScene(server);
});
afterAll(async () => {
  await server.close();
  await scene[Symbol.asyncDispose]();
});

const open = (): Promise<Host> => connect((signal) => scene.dial(signal));

test("an executor that is not there is reported before any timeout", async () => {
  // It has no time limit: without an answer from NATS it would wait forever.
  await expect(withDeadline(scene.dial(undefined, "nobody"), 30_000, () => "an answer")).rejects.toThrow(
    "failed to connect to executor nobody: no executor of this name is connected to the fleet",
  );
});

test("a file of 40 MB is written and read back", async () => {
  const directory = await mkdtemp(join(tmpdir(), "fleet-"));
  const host = await open();
  try {
    const bytes = randomBytes(40_000_000);
    await host.files.write(join(directory, "file"), bytes);
    expect(Buffer.compare(await host.files.read(join(directory, "file")), bytes)).toBe(0);
  } finally {
    await host.close();
    await rm(directory, { recursive: true });
  }
});

test("a NATS server that is killed and restarted in the middle of a flood costs no byte", async () => {
  const host = await open();
  try {
    const script = `i=0; while [ $i -lt ${FLOOD_MB * 10} ]; do i=$((i+1)); printf "%0100000d" $i; done`;
    const started = await host.start(["sh", "-c", script]);
    const got = createHash("sha256");
    const cuts = [...CUTS];
    let bytes = 0;
    for await (const chunk of started.output()) {
      got.update(chunk.bytes);
      bytes += chunk.bytes.length;
      if (cuts.length === 0 || bytes < cuts[0]!) continue;
      cuts.shift();
      await scene.nats.kill();
      await scene.nats.start();
    }
    const wanted = createHash("sha256");
    for (let at = 1; at <= FLOOD_MB * 10; at += 1) wanted.update(`${at}`.padStart(100_000, "0"));
    expect(bytes).toBe(FLOOD_MB * 1_000_000);
    expect(got.digest("hex")).toBe(wanted.digest("hex"));
    expect((await started.exited).exitCode).toBe(0);
    expect(cuts).toEqual([]);
  } finally {
    await host.close();
  }
  await expect.poll(() => server.state().runningProcesses, { timeout: 60_000 }).toBe(0);
});

test("a reader that has stopped does not hinder another client of the same executor", async () => {
  const [stuck, other] = [await scene.dial(), await open()];
  try {
    stuck.open({ message: () => {}, drain: () => {}, close: () => {} });
    const params = { clientName: "stuck" };
    stuck.send(JSON.stringify({ id: 1, method: "initialize", params }));
    stuck.send(JSON.stringify({ method: "initialized" }));
    const start = { processId: "flood", argv: ["yes"], cwd: "file:///", env: {}, tty: false, arg0: null };
    stuck.send(JSON.stringify({ id: 2, method: "process/start", params: start }));
    await expect.poll(() => stuck.receivedBytes, { timeout: 60_000 }).toBeGreaterThan(100_000);
    stuck.pause();
    const delivered = stuck.receivedBytes!;
    for (let at = 0; at < 20; at += 1) await other.run(["echo", "on"], { check: true });
    // No more than the window has come since, and what was on its way.
    expect(stuck.receivedBytes! - delivered).toBeLessThan(3 * 1024 * 1024);
  } finally {
    stuck.destroy();
    await other.close();
  }
});
