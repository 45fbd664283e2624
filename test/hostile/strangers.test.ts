import { createHash } from "node:crypto";
import http from "node:http";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { forgetPeak, openDescriptors, peakResidentBytes } from "../fault/proc-fs.ts";
import { startServer } from "../fault/server-under-test.ts";
import { AttackedServer, MAX_RESIDENT_BYTES } from "./attacked-server.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";
import { Crowd } from "./strangers.ts";

const AT_ONCE = 150;
const MAX_PENDING = 60;
/** Long enough for well-behaved clients, whatever the machine does. */
const DEADLINES = ["--handshake-timeout-ms", "4000", "--initialize-timeout-ms", "4500"];
const GONE_MS = 60_000;

/** Asserts that these strangers, although they stay, hold no descriptor of the server any more. */
async function expectGone(pid: number, most: number, crowd: Crowd): Promise<void> {
  await pollUntil(
    () => openDescriptors(pid).length <= most,
    GONE_MS,
    () => `${openDescriptors(pid).length} descriptors to become ${most} after ${crowd.names}`,
  );
}

describe("strangers at any stage before a session, who stay", () => {
  it("hold no descriptor beyond the deadlines, and delay no client", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start({ args: DEADLINES });
      const random = randomOf("strangers");
      const { pid, port } = target.server;
      const before = openDescriptors(pid).length;
      for (let round = 0; round < hostileRounds; round++) {
        using crowd = new Crowd();
        await crowd.join(AT_ONCE, port, random);
        await target.expectAtWork("while the strangers are there");
        await expectGone(pid, before, crowd);
      }
      await target.expectUnharmed("afterwards");
    }));

  it("are no more than the limit, and shut out no client", () =>
    withSeed(async () => {
      // No deadline helps here.
      await using target = await AttackedServer.start({
        args: ["--max-pending-connections", `${MAX_PENDING}`],
      });
      const random = randomOf("many strangers");
      const { pid, port } = target.server;
      const before = openDescriptors(pid).length;
      using crowd = new Crowd();
      for (let round = 0; round < 4; round++) {
        await crowd.join(MAX_PENDING, port, random, "no upgrade");
        await target.expectAtWork(`with ${(round + 1) * MAX_PENDING} strangers`);
        expect(openDescriptors(pid).length).toBeLessThanOrEqual(before + MAX_PENDING + 1);
      }
      await target.expectPrompt("with strangers");
      target.expectModest("with strangers");
    }));

  it("hold no descriptor beyond the deadlines where a token is asked for", () =>
    withSeed(async () => {
      const digest = createHash("sha256").update("token").digest("hex");
      await using server = await startServer({
        args: [...DEADLINES, "--ws-auth", "capability-token", "--ws-token-sha256", digest],
      });
      const random = randomOf("strangers without a token");
      const ready = async (): Promise<void> => {
        const [response] = (await once(
          http.get(`http://127.0.0.1:${server.port}/readyz`, { agent: false }),
          "response",
        )) as [http.IncomingMessage];
        expect(response.resume().statusCode).toBe(200);
        await once(response, "close");
      };
      await ready();
      forgetPeak(server.pid);
      const before = openDescriptors(server.pid).length;
      for (let round = 0; round < hostileRounds; round++) {
        using crowd = new Crowd();
        await crowd.join(AT_ONCE, server.port, random);
        await expectGone(server.pid, before, crowd);
        await ready();
      }
      expect(peakResidentBytes(server.pid)).toBeLessThan(MAX_RESIDENT_BYTES);
    }));
});
