import { expect } from "vitest";
import { run } from "./process-events.ts";
import { start, verifies } from "./verifies.ts";

verifies("server.status:tells", async ({ peer, target }) => {
  const connection = await peer();
  const status = await connection.request("server/status");
  const number = expect.any(Number);
  expect(status).toEqual({
    pid: target.server?.child.pid ?? number,
    startedAtMs: number,
    connections: number,
    sessions: number,
    runningProcesses: number,
  });
  expect(status.connections).toBeGreaterThanOrEqual(1);
  expect(status.sessions).toBeGreaterThanOrEqual(status.connections);
  expect(Date.now() - status.startedAtMs).toBeGreaterThanOrEqual(0);
  await connection.request("process/start", start("p", ["sleep", "60"]));
  await run(connection, "ended", ["true"]);
  expect((await connection.request("server/status", null)).runningProcesses).toBeGreaterThanOrEqual(1);
});
