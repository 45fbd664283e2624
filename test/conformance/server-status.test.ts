import { expect } from "vitest";
import { run } from "./process-events.ts";
import { expectError, start, verifies } from "./verifies.ts";

verifies("server.status:tells", async ({ peer, target }) => {
  const connection = await peer();
  const { program, ...status } = await connection.request("server/status");
  // A server inside of another program has none.
  if (program !== undefined) expect(program).toEqual([process.execPath, expect.stringMatching(/^\/.*\.js$/)]);
  const number = expect.any(Number);
  expect(status).toEqual({
    pid: target.server?.child.pid ?? number,
    startedAtMs: number,
    connections: number,
    sessions: number,
    runningProcesses: number,
    cordoned: false,
    rights: {
      principal: expect.any(String),
      preset: "full",
      allowed:
        "session info readFiles writeFiles start control follow settings discovery network operate audit manage".split(
          " ",
        ),
      scopes: ["session", "kept"],
    },
  });
  expect(status.connections).toBeGreaterThanOrEqual(1);
  expect(status.sessions).toBeGreaterThanOrEqual(status.connections);
  expect(Date.now() - status.startedAtMs).toBeGreaterThanOrEqual(0);
  await connection.request("process/start", start("p", ["sleep", "60"]));
  await run(connection, "ended", ["true"]);
  expect((await connection.request("server/status", null)).runningProcesses).toBeGreaterThanOrEqual(1);
});

verifies("server.sessions:lists", async ({ connect }) => {
  const connection = await connect();
  const { sessionId } = await connection.handshake();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  const { sessions } = await connection.request("server/sessions");
  const own = sessions.filter((session: { own: boolean }) => session.own);
  expect(own).toEqual([
    {
      label: expect.stringMatching(/^[0-9a-f]{12}$/),
      owner: expect.any(String),
      clientName: expect.any(String),
      own: true,
      connected: true,
      openedAtMs: expect.any(Number),
      runningProcesses: 1,
    },
  ]);
  expect(JSON.stringify(sessions)).not.toContain(sessionId);
});

verifies("server.limits:lists", async ({ peer }) => {
  const connection = await peer();
  const { limits } = await connection.request("server/limits");
  const doc = expect.any(String);
  expect(limits).toContainEqual({
    key: "max_sessions",
    unit: "count",
    value: 16_384,
    used: expect.any(Number),
    doc,
  });
  expect(limits).toContainEqual({ key: "max_processes_per_session", unit: "count", value: 16_384, doc });
  const { used } = limits.find(({ key }: { key: string }) => key === "max_sessions");
  expect(used).toBeGreaterThanOrEqual(1);
});

verifies("server.metrics:lists", async ({ peer }) => {
  const connection = await peer();
  const before = Date.now();
  await run(connection, "ended", ["true"]);
  await expectError(connection.request("server/metrics", { hours: "all" }), -32602);
  const { atMs, ...values } = await connection.request("server/metrics", null);
  expect(atMs.length).toBeGreaterThanOrEqual(2);
  expect(atMs).toEqual([...atMs].sort((one: number, other: number) => one - other));
  expect(atMs.at(-1)).toBeGreaterThanOrEqual(before);
  const last = Object.entries(values as Record<string, number[]>).map(([name, list]) => {
    expect(list.length).toBe(atMs.length);
    return [name, list.at(-1)];
  });
  const number = expect.any(Number);
  expect(Object.fromEntries(last)).toEqual({
    connections: number,
    sessions: number,
    runningProcesses: number,
    bufferedBytes: number,
    requestsPerSecond: number,
    errorsPerSecond: number,
    sentBytesPerSecond: number,
    cpuPercent: number,
    eventLoopPercent: number,
    memoryBytes: number,
  });
  const [, connections] = last.find(([name]) => name === "connections")!;
  expect(connections).toBeGreaterThanOrEqual(1);
});

verifies("server.cordon:told", async ({ peer }) => {
  const connection = await peer();
  const cordoned = async (): Promise<boolean> => (await connection.request("server/status")).cordoned;
  try {
    expect(await connection.request("server/cordon", { cordoned: true })).toEqual({});
    expect(await cordoned()).toBe(true);
    await run(connection, "still", ["true"]);
    await expectError(connection.request("server/cordon", { cordoned: "no" }), -32602);
    expect(await cordoned()).toBe(true);
  } finally {
    await connection.request("server/cordon", { cordoned: false });
  }
  expect(await cordoned()).toBe(false);
});

verifies("server.audit:none", async ({ peer }) => {
  const connection = await peer();
  const refused = await connection.call("server/audit", {});
  expect(refused.error).toMatchObject({ code: -32600, data: { code: "UNSUPPORTED" } });
});
