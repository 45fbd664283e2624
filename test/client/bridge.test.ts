import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { builtCli, startServer } from "../fault/server-under-test.ts";
import { FaultProxy } from "./fault-proxy.ts";

const MEBIBYTE = 1024 * 1024;
const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const bridgeTo = (url: string): { command: [string, ...string[]] } => ({
  command: [process.execPath, builtCli, "bridge", "--stdio", "--url", url],
});

describe("a bridge with a bad connection", () => {
  it("writes large files and runs commands, as if nothing happened", async () => {
    await using server = await startServer();
    await using proxy = await FaultProxy.open(server.port, new SeededRandom(runSeed));
    const directory = await mkdtemp("/var/tmp/exec-server-bridge-");
    try {
      await using host = await connect(bridgeTo(proxy.url));
      const files = Array.from({ length: 6 }, async (_, index) => {
        const bytes = randomBytes(index * MEBIBYTE + 1);
        await host.files.write(`${directory}/${index}`, bytes);
        const { stdout } = await host.run(["sha256sum", `${directory}/${index}`]);
        expect(stdout.split(" ")[0]).toBe(hash(bytes));
      });
      const commands = Array.from({ length: 20 }, async (_, index) => {
        const { stdout, exitCode } = await host.sh`sleep 0.${index}; seq 1 5000; exit ${index}`;
        expect({ exitCode, lines: stdout.split("\n").length }).toEqual({ exitCode: index, lines: 5001 });
      });
      await Promise.all([...files, ...commands]);
      expect(proxy.counts.connections).toBeGreaterThan(1);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
