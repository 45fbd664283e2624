import { expect } from "vitest";
import { leaveChildBehind, shell } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

function wait(peer: RawPeer, processId: string, options: Record<string, unknown> = {}) {
  return peer.request("process/wait", { processId, ...options });
}

verifies("process.wait:exit", async ({ peer }) => {
  const connection = await peer();
  const started = connection.request("process/start", start("p", shell("exit 7")));
  const early = await wait(connection, "p");
  await started;
  expect(early).toMatchObject({ exited: true, exitCode: 7 });
  await connection.nextNotification("process/closed", "p");
  expect(await wait(connection, "p")).toMatchObject({ exited: true, closed: true, exitCode: 7 });
});

verifies("process.wait:closed", async ({ peer }) => {
  const connection = await peer();
  const pid = await leaveChildBehind(connection, "p");
  const open = { exited: true, closed: false, exitCode: 3 };
  expect(await wait(connection, "p")).toMatchObject(open);
  expect(await wait(connection, "p", { until: "closed", timeoutMs: 20 })).toMatchObject(open);
  const waiting = wait(connection, "p", { until: "closed" });
  process.kill(pid, "SIGUSR1");
  expect(await waiting).toMatchObject({ exited: true, closed: true, exitCode: 3 });
});

verifies("process.wait:timeout", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  for (const timeoutMs of [0, 20])
    expect(await wait(connection, "p", { timeoutMs })).toEqual({
      exited: false,
      closed: false,
      exitCode: null,
    });
});

verifies("process.wait:blocks-nobody", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  const waiting = wait(connection, "p", { timeoutMs: null });
  await connection.request("process/terminate", { processId: "p" });
  expect(await waiting).toMatchObject({ exited: true, exitCode: 137 });
});

verifies("process.wait:unknown", async ({ peer }) => {
  await expectError(wait(await peer(), "nobody"), -32600, "unknown process id nobody");
});
