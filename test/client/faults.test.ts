import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { startServer } from "../fault/server-under-test.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { DRAIN_DEADLINE_MS, expectWork, runWorkload } from "./run-workload.ts";

/** FAULT_SECONDS=60 is the long form. */
const longForm = process.env["FAULT_SECONDS"];
const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

describe.each([
  { way: "a bad connection", seconds: Number(longForm ?? 12), bridge: undefined },
  { way: "a bridge with a bad connection", seconds: Number(longForm ?? 6), bridge: program },
])("50 processes at a time through $way, $seconds s", ({ seconds, bridge }) => {
  test("nothing lost, nothing twice, nothing left", {
    timeout: seconds * 1000 + DRAIN_DEADLINE_MS + 30_000,
  }, async () => {
    await using server = await startServer();
    await using proxy = await FaultProxy.open(server.port, new SeededRandom(runSeed));
    const { url } = proxy;
    const report = await runWorkload({ url, seconds, ...(bridge === undefined ? {} : { bridge }) });
    process.stdout.write(`${JSON.stringify({ seed: runSeed, faults: proxy.counts, ...report })}\n`);
    if (bridge === undefined) expect(report.recoveries).toBeGreaterThan(seconds / 4);
    else expect(report).toMatchObject({ recoveries: 0, lostStarts: 0, requests: { lost: 0 } });
    expect(proxy.counts.connections).toBeGreaterThan(seconds / 4);
    expectWork(report);
    // The rest belongs to stdin and stdout, which the test holds. A command ends with its client.
    if (bridge === undefined)
      expect(report.resources.filter((name) => !["PipeWrap", "Immediate"].includes(name))).toEqual([]);
  });
});
