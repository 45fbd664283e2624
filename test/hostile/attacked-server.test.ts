import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { MachineStalls } from "../fixtures/machine-stalls.ts";
import { AttackedServer, MAX_LATENCY_MS } from "./attacked-server.ts";

describe("what the hostile suite measures", () => {
  it("is well within its bounds on a server that is not under attack", async () => {
    await using target = await AttackedServer.start();
    await target.expectUnharmed("no attack");
  });

  it("leaves out that the machine stands still", async () => {
    await using target = await AttackedServer.start();
    const hearts = (await MachineStalls.watch()).pids;
    for (const pid of [...hearts, target.server.pid]) process.kill(pid, "SIGSTOP");
    await target.bystanderWaits();
    await delay(2 * MAX_LATENCY_MS);
    for (const pid of [target.server.pid, ...hearts]) process.kill(pid, "SIGCONT");
    await target.expectPrompt("on a machine that stood still");
  });

  it("shows a server that stands still, and one that keeps a connection", async () => {
    await using target = await AttackedServer.start();
    const { pid } = target.server;
    process.kill(pid, "SIGSTOP");
    await target.bystanderWaits();
    await delay(2 * MAX_LATENCY_MS);
    process.kill(pid, "SIGCONT");
    await expect(target.expectPrompt("stopped")).rejects.toThrow(/slowest answer/);
    const kept = await target.session();
    await expect(target.expectNothingLeft("kept", 200)).rejects.toThrow(/descriptors/);
    kept.cut();
    await target.expectUnharmed("afterwards");
  });
});
