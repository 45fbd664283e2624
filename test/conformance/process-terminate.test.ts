import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import {
  arrivedEvents,
  collect,
  isRunning,
  leaveChildBehind,
  read,
  run,
  shell,
  untilGone,
  untilNumber,
  untilOutput,
  withFiles,
  write,
} from "./process-events.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

function terminate(peer: RawPeer, processId: string) {
  return peer.request("process/terminate", { processId });
}

verifies("process.terminate:running", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("echo ready; exec sleep 60")));
  await untilOutput(connection, "p", /ready/);
  expect(await terminate(connection, "p")).toEqual({ running: true });
  expect((await collect(connection, "p")).exitCode).toBe(137);
  expect(await read(connection, "p")).toMatchObject({
    chunks: [{ seq: 1, stream: "stdout" }],
    nextSeq: 4,
    exited: true,
    exitCode: 137,
    closed: true,
    failure: null,
  });
});

verifies("process.terminate:exited", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("exit 3"));
  await connection.request("process/start", start("q", ["sleep", "60"]));
  await terminate(connection, "q");
  await collect(connection, "q");
  for (const id of ["p", "q"]) expect(await terminate(connection, id)).toEqual({ running: false });
  expect(await read(connection, "p")).toMatchObject({ exitCode: 3, nextSeq: 3 });
});

verifies("process.terminate:unknown-process", async ({ peer }) => {
  expect(await terminate(await peer(), "nobody")).toEqual({ running: false });
});

verifies("process.terminate:required-members", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("process/terminate", {}), -32602, "missing field `processId`");
  await expectError(
    connection.request("process/terminate", { processId: 1 }),
    -32602,
    "invalid type: number, expected a string",
  );
});

verifies("process.terminate:only-its-process", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  await connection.request("process/start", start("q", shell("read line; exit 6"), { pipeStdin: true }));
  await terminate(connection, "p");
  await collect(connection, "p");
  await write(connection, "q", "go\n");
  expect((await collect(connection, "q")).exitCode).toBe(6);
});

verifies("kill:group", async ({ peer }) => {
  const connection = await peer();
  const script = shell("sleep 60 >/dev/null 2>&1 & echo $!; wait");
  await connection.request("process/start", start("p", script));
  const child = await untilNumber(connection, "p");
  expect(await terminate(connection, "p")).toEqual({ running: true });
  await collect(connection, "p");
  await untilGone(child);
});

verifies("kill:group-tty", async ({ peer }) => {
  const connection = await peer();
  // The child ignores the hangup that ends most programs when their terminal goes.
  const script = shell("trap '' HUP; sleep 60 & echo $!; wait");
  await connection.request("process/start", start("p", script, { tty: true }));
  const child = await untilNumber(connection, "p");
  expect(await terminate(connection, "p")).toEqual({ running: true });
  await collect(connection, "p");
  await untilGone(child);
});

verifies("kill:no-handlers", async ({ peer }) => {
  const connection = await peer();
  const trapped = "trap 'echo handled' TERM INT HUP QUIT EXIT; echo ready; while :; do sleep 0.02; done";
  await connection.request("process/start", start("p", shell(trapped)));
  await untilOutput(connection, "p", /ready/);
  await terminate(connection, "p");
  const { exitCode, stdout } = await collect(connection, "p");
  expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 137, stdout: "ready\n" });
});

verifies("kill:stopped", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("echo $$; kill -STOP $$")));
  const pid = await untilNumber(connection, "p");
  await expect.poll(() => readFileSync(`/proc/${pid}/stat`, "utf8"), { interval: 10 }).toMatch(/\) T /);
  expect(await terminate(connection, "p")).toEqual({ running: true });
  expect((await collect(connection, "p")).exitCode).toBe(137);
});

verifies("kill:escaped-survive", async ({ peer }) => {
  const connection = await peer();
  // The child says that it has its own session before it is relied on.
  const script = shell("setsid sh -c 'echo $$; exec sleep 60' & wait");
  await connection.request("process/start", start("p", script));
  const escaped = await untilNumber(connection, "p");
  try {
    await terminate(connection, "p");
    expect((await collect(connection, "p")).exitCode).toBe(137);
    expect(isRunning(escaped)).toBe(true);
  } finally {
    process.kill(escaped, "SIGKILL");
  }
});

verifies("kill:tty-exit-code", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("echo ready; exec sleep 60"), { tty: true }));
  await untilOutput(connection, "p", /ready/);
  await terminate(connection, "p");
  expect((await collect(connection, "p")).exitCode).toBe(137);
});

verifies("kill:exit-spares-background", async ({ peer }) => {
  const connection = await peer();
  const pid = await leaveChildBehind(connection, "p");
  process.kill(pid, "SIGUSR1");
  const { exitCode, stdout } = await collect(connection, "p");
  expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 3, stdout: `${pid}\nSIGUSR1\n` });
});

verifies("kill:terminate-after-exit-spares-background", async ({ peer }) => {
  const connection = await peer();
  const pid = await leaveChildBehind(connection, "p");
  expect(await terminate(connection, "p")).toEqual({ running: false });
  expect(await read(connection, "p")).toMatchObject({ exited: true, closed: false });
  expect(arrivedEvents(connection, "p").map((event) => event.kind)).not.toContain("closed");
  process.kill(pid, "SIGUSR1");
  expect((await collect(connection, "p")).stdout.toString()).toBe(`${pid}\nSIGUSR1\n`);
});

async function startFamily(peer: RawPeer): Promise<number[]> {
  const script = shell("sleep 60 >/dev/null 2>&1 & echo $!; echo $$; wait");
  const pids = [];
  for (const tty of [false, true]) {
    const id = `tty ${tty}`;
    await peer.request("process/start", start(id, script, { tty }));
    const output = await untilOutput(peer, id, /\d+\s+\d+\s/);
    pids.push(...output.trim().split(/\s+/).map(Number));
  }
  return pids;
}

async function exitCodeOf(child: ChildProcess | undefined): Promise<number | null> {
  if (child === undefined) throw new TypeError("the server is no child of this process");
  const [code] = (await once(child, "exit", { signal: AbortSignal.timeout(20_000) })) as [number | null];
  return code;
}

verifies("kill:server-end-of-input", async ({ peer }) => {
  const connection = await peer();
  const pids = await startFamily(connection);
  const exited = exitCodeOf(connection.child);
  connection.close();
  expect(await exited).toBe(0);
  for (const pid of pids) await untilGone(pid);
});

verifies("kill:server-terminated", async ({ launch }) => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const server = await launch(["--listen", "ws://127.0.0.1:0"]);
    const connection = await openWebSocketPeer(await server.banner());
    await connection.handshake();
    const pids = await startFamily(connection);
    const exited = exitCodeOf(server.child);
    server.child.kill(signal);
    expect(await exited).toBe(0);
    for (const pid of pids) await untilGone(pid);
    await connection.closed;
  }
});

verifies("kill:server-terminated-stdio", async ({ peer }) => {
  const connection = await peer();
  const pids = await startFamily(connection);
  const exited = exitCodeOf(connection.child);
  connection.child?.kill("SIGTERM");
  expect(await exited).toBe(0);
  for (const pid of pids) await untilGone(pid);
});

/** Ends on its own: nothing else ends it if the server leaves it behind. */
const LOOP_FOR_A_MINUTE = "n=0; while [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; done";

verifies("kill:server-killed", async ({ peer }) => {
  await withFiles({}, async ({ path }) => {
    const connection = await peer();
    const script = shell(`trap 'echo TERM > ${path}/signal; exit' TERM; echo $$; ${LOOP_FOR_A_MINUTE}`);
    await connection.request("process/start", start("p", script));
    const pid = await untilNumber(connection, "p");
    connection.drop();
    await untilGone(pid);
    expect(readFileSync(`${path}/signal`, "utf8")).toBe("TERM\n");
  });
});

verifies("kill:server-killed-tty", async ({ peer }) => {
  await withFiles({}, async ({ path }) => {
    const connection = await peer();
    const script = shell(`trap 'echo HUP > ${path}/signal; exit' HUP; echo $$; ${LOOP_FOR_A_MINUTE}`);
    await connection.request("process/start", start("p", script, { tty: true }));
    const pid = await untilNumber(connection, "p");
    connection.drop();
    await untilGone(pid);
    expect(readFileSync(`${path}/signal`, "utf8")).toBe("HUP\n");
  });
});
