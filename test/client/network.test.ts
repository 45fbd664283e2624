import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Host, RunOptions } from "../../src/client/host/host.ts";
import type { NetworkAccess, NetworkRequest } from "../../src/client/routes/network-access.ts";
import { fixture } from "../conformance/process-events.ts";
import { withEcho } from "../conformance/proxied-process.ts";
import { type ClientTarget, clientTargets } from "./client-targets.ts";

// The network of a process, on every server.

const ALLOWED = "HTTP/1.1 200 OK";
const BLOCKED = "HTTP/1.1 403 Forbidden";

describe.each(clientTargets)("network on $name", ({ start }) => {
  let target: ClientTarget;
  let host: Host;

  beforeAll(async () => {
    target = await start();
    host = await target.connect();
  });

  afterAll(async () => {
    await host?.close();
    await target?.stop();
  });

  /** What a process with this network can reach. */
  async function reach(port: number, network: NetworkAccess, options: RunOptions = {}): Promise<unknown> {
    const argv = [process.execPath, fixture("reach-network.mjs"), String(port)] as const;
    const { stdout, stderr } = await host.run(argv, { ...options, network });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout);
  }

  test("is a proxy that lets through what is allowed", async () => {
    await withEcho(async (port) => {
      const network = { allow: ["127.0.0.1"], local: true };
      expect(await reach(port, network)).toMatchObject({
        proxied: ALLOWED,
        blocked: BLOCKED,
        direct: ALLOWED,
      });
      expect(await reach(port, { ...network, deny: ["127.*"] })).toMatchObject({ proxied: BLOCKED });
      expect(await reach(port, {})).toMatchObject({ proxied: BLOCKED });
    });
  });

  test("is all that can be reached from a sandbox", async () => {
    await withEcho(async (port) => {
      const network = { allow: ["127.0.0.1"], local: true };
      const reached = await reach(port, network, { sandbox: "read-only" });
      expect(reached).toMatchObject({ proxied: ALLOWED, blocked: BLOCKED, direct: "ECONNREFUSED" });
    });
  });

  test("asks about what neither list names, each process its own function", async () => {
    await withEcho(async (port) => {
      const asked: NetworkRequest[] = [];
      const yes: NetworkAccess = {
        local: true,
        decide: (request) => {
          asked.push(request);
          return { type: "allow" };
        },
      };
      const no: NetworkAccess = { local: true, decide: async () => ({ type: "deny", reason: "too far" }) };
      const [first, second] = await Promise.all([
        reach(port, { ...yes, deny: ["example.com"] }, { processId: "first" }),
        reach(port, no),
      ]);
      expect(first).toMatchObject({ proxied: ALLOWED, blocked: BLOCKED });
      expect(second).toMatchObject({ proxied: BLOCKED });
      expect(asked).toEqual([{ processId: "first", protocol: "http", host: "127.0.0.1", port }]);
    });
  });

  test("takes an error, and no decision, for a no", async () => {
    await withEcho(async (port) => {
      const failing = reach(port, {
        local: true,
        decide: () => {
          throw new Error("a mistake");
        },
      });
      const undecided = reach(port, { local: true, decide: () => undefined });
      for (const reached of await Promise.all([failing, undecided]))
        expect(reached).toMatchObject({ proxied: BLOCKED });
    });
  });

  test("refuses patterns that mean nothing", async () => {
    await expect(host.run(["true"], { network: { allow: ["a.**.b"] } })).rejects.toThrow(
      "invalid network proxy config: unsupported repeated wildcard: a.**.b",
    );
    await expect(
      host.run(["true"], { network: { decide: () => undefined, decisionTimeoutMs: 0 } }),
    ).rejects.toThrow("decisionTimeoutMs must be greater than 0");
  });
});
