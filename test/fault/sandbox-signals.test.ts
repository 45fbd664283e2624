import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { awaitNoneLeft } from "./marked-processes.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, startParams } from "./session-client.ts";

/** It takes about 10 ms until a program runs in its sandbox. */
const MOMENTS_MS = Array.from({ length: 12 }, (_, index) => index * 2);

const SANDBOX = {
  permissions: {
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [{ path: { type: "special", value: { kind: "root" } }, access: "read" }],
    },
    network: "restricted",
  },
  windowsSandboxLevel: "disabled",
};

let server: ServerUnderTest;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

it.each([
  ["a signal", "process/signal", { signal: "interrupt" }, 130],
  ["a graceful end", "process/terminate", { mode: "graceful", timeoutMs: 10_000 }, 143],
  ["a kill", "process/terminate", {}, 137],
] as const)("%s ends a sandbox at every moment of its start", async (_, method, params, exitCode) => {
  const marker = `sandbox-signals-${randomUUID()}`;
  const client = await openSession(server.url);
  await Promise.all(
    MOMENTS_MS.map(async (moment) => {
      const processId = `p${moment}`;
      const start = startParams(processId, ["sleep", "30"], { env: { FAULT_MARKER: marker } });
      await client.request("process/start", { ...start, sandbox: SANDBOX });
      await delay(moment);
      await client.request(method, { processId, ...params });
      const ended = await client.request("process/wait", { processId, until: "closed", timeoutMs: 60_000 });
      expect(ended).toMatchObject({ closed: true, exitCode });
    }),
  );
  await awaitNoneLeft(marker);
  client.cut();
});
