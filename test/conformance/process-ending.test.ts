import { expect } from "vitest";
import {
  collect,
  exitReport,
  fixture,
  isRunning,
  read,
  run,
  shell,
  untilGone,
  untilNumber,
  untilOutput,
} from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { fromBase64, start, verifies } from "./verifies.ts";
import { killIfThere } from "../fixtures/kill-if-there.ts";

const MEBIBYTE = 1024 * 1024;
/** Room for what must happen before a time is over, on a machine that stands still for seconds. */
const SECONDS_MS = 5000;
const WAITS = { concurrent: true };
const stubborn = shell("trap '' TERM; echo ready; while :; do sleep 0.02; done");

function endGracefully(peer: RawPeer, processId: string, options: Record<string, unknown> = {}) {
  return peer.request("process/terminate", { processId, mode: "graceful", ...options });
}

/** The exit report of the notification. */
async function reported(peer: RawPeer, processId: string) {
  return (await peer.nextNotification("process/exited", processId)).params.exit;
}

verifies("process.terminate:graceful", async ({ peer }) => {
  const connection = await peer();
  const polite = shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.02; done");
  await connection.request("process/start", start("p", polite));
  await untilOutput(connection, "p", /ready/);
  expect(await endGracefully(connection, "p")).toEqual({ running: true });
  const { exitCode, stdout } = await collect(connection, "p");
  expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 5, stdout: "ready\nbye\n" });
  expect((await read(connection, "p")).exit).toEqual(exitReport);
  expect(await endGracefully(connection, "p")).toEqual({ running: false });
  expect(await endGracefully(connection, "nobody")).toEqual({ running: false });
});

verifies("process.terminate:grace-ends", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", stubborn));
  await untilOutput(connection, "p", /ready/);
  expect(await endGracefully(connection, "p", { timeoutMs: 50 })).toEqual({ running: true });
  expect(await reported(connection, "p")).toMatchObject({ signal: "SIGKILL", killedBy: "client" });
});

verifies(
  "process.terminate:grace-group",
  async ({ peer }) => {
    const connection = await peer();
    // The child prints the signals it gets and continues; the shell ends at SIGTERM.
    const argv = [...shell('"$0" "$1" & wait'), process.execPath, fixture("tell-signals.mjs")];
    await connection.request("process/start", start("p", argv));
    const child = await untilNumber(connection, "p");
    await endGracefully(connection, "p", { timeoutMs: SECONDS_MS });
    expect(await reported(connection, "p")).toMatchObject({ signal: "SIGTERM", killedBy: "client" });
    expect(isRunning(child)).toBe(true);
    await untilGone(child);
    expect((await collect(connection, "p")).stdout.toString()).toBe(`${child}\nSIGTERM\n`);
  },
  WAITS,
);

verifies(
  "process.terminate:left-behind",
  async ({ peer }) => {
    const connection = await peer();
    for (const [id, mode] of [
      ["killed", { mode: "now" }],
      ["asked", { mode: "graceful", timeoutMs: SECONDS_MS }],
      ["stubborn", { mode: "graceful", timeoutMs: 50 }],
    ] as const) {
      const child = id === "stubborn" ? "trap '' TERM; " : "";
      await connection.request("process/start", start(id, shell(`(${child}exec sleep 600) & echo $!`)));
      const left = await untilNumber(connection, id);
      await connection.request("process/wait", { processId: id, until: "exited", timeoutMs: SECONDS_MS });
      expect(await connection.request("process/terminate", { processId: id })).toEqual({ running: false });
      expect(await read(connection, id)).toMatchObject({ exitCode: 0, closed: false });
      expect(isRunning(left)).toBe(true);
      expect(await connection.request("process/terminate", { processId: id, ...mode })).toEqual({
        running: false,
      });
      expect((await collect(connection, id)).exitCode).toBe(0);
      await untilGone(left);
    }
  },
  WAITS,
);

verifies("process.terminate:now-in-grace", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", stubborn));
  await untilOutput(connection, "p", /ready/);
  await endGracefully(connection, "p", { timeoutMs: 600_000 });
  expect(await connection.request("process/terminate", { processId: "p", mode: "now" })).toEqual({
    running: true,
  });
  expect((await collect(connection, "p")).exitCode).toBe(137);
});

verifies(
  "process.start:timeout",
  async ({ peer }) => {
    const connection = await peer();
    const polite = shell("trap 'exit 5' TERM; while :; do sleep 0.02; done");
    // Time enough to set the trap.
    await connection.request("process/start", start("q", polite, { timeoutMs: SECONDS_MS }));
    await connection.request("process/start", start("p", ["sleep", "60"], { timeoutMs: 50 }));
    expect(await reported(connection, "p")).toMatchObject({
      signal: "SIGTERM",
      killedBy: "timeout",
      timedOut: true,
    });
    expect(await reported(connection, "q")).toEqual({ ...exitReport, timedOut: true });
    await connection.request("process/start", start("r", stubborn, { timeoutMs: 0 }));
    expect((await collect(connection, "r")).exitCode).toBeGreaterThan(128);
  },
  WAITS,
);

verifies("process.start:timeout-in-time", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["true"], { timeoutMs: 60_000 }));
  expect(await reported(connection, "p")).toEqual(exitReport);
});

verifies("process.start:close-on-exit", async ({ peer }) => {
  const connection = await peer();
  const script = shell("sleep 60 & head -c 40000 /dev/zero; echo $! >&2; exit 4");
  for (const closeOnExit of [true, false]) {
    const id = `closeOnExit ${closeOnExit}`;
    await connection.request("process/start", start(id, script, { closeOnExit }));
    const ended = { processId: id, until: "closed", timeoutMs: closeOnExit ? null : 100 };
    expect(await connection.request("process/wait", ended)).toMatchObject({ closed: closeOnExit });
    const sleeper = await untilNumberOn(connection, id);
    expect(isRunning(sleeper)).toBe(true);
    process.kill(sleeper, "SIGKILL");
    const { stdout, exitCode } = await collect(connection, id);
    expect({ exitCode, bytes: stdout.length }).toEqual({ exitCode: 4, bytes: 40_000 });
  }
});

verifies("process.start:close-on-exit-at-once", async ({ peer }) => {
  const connection = await peer();
  for (let count = 0; count < 40; count += 1) {
    const { events } = await run(connection, `p${count}`, ["true"], { closeOnExit: true });
    expect(events.map(({ kind }) => kind)).toEqual(["exited", "closed"]);
  }
});

/** The number that a process wrote to its stderr, whatever it writes to its stdout. */
async function untilNumberOn(peer: RawPeer, processId: string): Promise<number> {
  const written = async () => {
    const { streams } = await peer.request("process/snapshot", { processId, stream: "stderr" });
    return fromBase64(streams[0].head);
  };
  await expect.poll(written, { interval: 5 }).toMatch(/^\d+\n$/);
  return Number(await written());
}

verifies("process.start:close-on-exit-flood", async ({ peer }) => {
  const connection = await peer();
  const script = shell("yes & echo $! >&2; sleep 0.1; exit 4");
  await connection.request("process/start", start("p", script, { closeOnExit: true }));
  // From the notification: the flood drives it out of what the server keeps, sooner than a read can ask for it.
  const number = await connection.next((message) => message.params?.stream === "stderr", undefined, "stderr");
  const flooder = Number(Buffer.from(number.params.chunk, "base64").toString());
  try {
    await connection.nextNotification("process/closed", "p");
  } finally {
    if (isRunning(flooder)) killIfThere(flooder);
  }
});

verifies("process.exit:signal", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "by itself", shell("kill -USR1 $$"));
  expect((await read(connection, "by itself")).exit).toEqual({ ...exitReport, signal: "SIGUSR1" });
  await connection.request("process/start", start("terminated", ["sleep", "60"]));
  await connection.request("process/terminate", { processId: "terminated" });
  expect(await reported(connection, "terminated")).toEqual({
    ...exitReport,
    signal: "SIGKILL",
    killedBy: "client",
  });
  await connection.request("process/start", start("signalled", ["sleep", "60"]));
  await connection.request("process/signal", { processId: "signalled", signal: "interrupt" });
  expect(await reported(connection, "signalled")).toMatchObject({ signal: "SIGINT", killedBy: "client" });
  const outlived = shell("trap '' INT; echo $$; read line; kill -TERM $$");
  await connection.request("process/start", start("outlived", outlived, { pipeStdin: true }));
  await untilNumber(connection, "outlived");
  await connection.request("process/signal", { processId: "outlived", signal: "interrupt" });
  await connection.request("process/closeStdin", { processId: "outlived" });
  expect(await reported(connection, "outlived")).toEqual({ ...exitReport, signal: "SIGTERM" });
});

verifies("process.exit:usage", async ({ peer }) => {
  const connection = await peer();
  const busy = "const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end);";
  const large = `Buffer.alloc(${512 * MEBIBYTE}, 1);`;
  await run(connection, "p", [process.execPath, "-e", busy + large]);
  const { cpuTimeMs, peakMemoryBytes } = (await read(connection, "p")).exit;
  expect(cpuTimeMs.user).toBeGreaterThan(300);
  expect(cpuTimeMs.user).toBeLessThan(30_000);
  expect(peakMemoryBytes).toBeGreaterThan(512 * MEBIBYTE);
  expect(peakMemoryBytes).toBeLessThan(2048 * MEBIBYTE);
  await run(connection, "small", ["true"]);
  expect((await read(connection, "small")).exit).toEqual(exitReport);
});

verifies("process.exit:everywhere", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  expect(await read(connection, "p")).not.toHaveProperty("exit");
  await connection.request("process/terminate", { processId: "p" });
  const told = await reported(connection, "p");
  const { exit: asked } = await read(connection, "p");
  const { exit: waited } = await connection.request("process/wait", { processId: "p" });
  expect({ asked, waited }).toEqual({ asked: told, waited: told });
  expect(told).toMatchObject({ signal: "SIGKILL" });
});
