import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReadResult, SessionClient } from "../fault/session-client.ts";
import {
  controlSequences,
  floods,
  longStrings,
  otherSequences,
  STATES,
} from "../fixtures/extreme-sequences.ts";
import { AttackedServer } from "./attacked-server.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";

const USUAL = { rows: 24, cols: 80 };
/** The largest screen that a server follows. */
const HUGE = { rows: 300, cols: 1000 };
/** Each byte can cost milliseconds there. */
const HUGE_FLOOD_BYTES = 160;
const FLOOD_BYTES = 8192;
const STRING_BYTES = 2 * 1024 * 1024;
const TERMINALS = 24;

let directory = "";
let started = 0;

beforeAll(() => {
  directory = mkdtempSync("/var/tmp/exec-server-hostile-");
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Starts a program that writes `output` to a terminal whose screen is followed. */
async function show(
  session: SessionClient,
  output: string,
  terminalSize: { rows: number; cols: number },
): Promise<string> {
  started += 1;
  const processId = `p-${started}`;
  const file = join(directory, processId);
  writeFileSync(file, output);
  await session.request("process/start", {
    processId,
    argv: ["cat", file],
    cwd: "file:///",
    env: { PATH: "/usr/bin:/bin" },
    tty: true,
    terminalSize,
    followScreen: true,
  });
  return processId;
}

/** Resolves when the screen has read everything. */
async function seen(session: SessionClient, processId: string, paint = false): Promise<string[]> {
  for (let afterSeq = 0, isOver = false; !isOver; ) {
    const result = await session.request<ReadResult>("process/read", { processId, afterSeq, waitMs: 10_000 });
    afterSeq = result.nextSeq - 1;
    isOver = result.closed;
  }
  const { screen } = await session.request<{ screen: { lines: string[]; complete: boolean } }>(
    "process/snapshot",
    { processId, maxBytes: 0, screen: true, paint },
  );
  expect(screen.complete).toBe(true);
  return screen.lines;
}

describe("what programs write to terminals", () => {
  it("delays no other client, whatever the parameters of a sequence are", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const session = await target.session();
      for (let round = 0; round < hostileRounds; round += 1)
        for (const [name, state] of Object.entries(STATES)) {
          const random = randomOf(`sequences ${name} ${round}`);
          const sequences = [...controlSequences(random), ...otherSequences(random)];
          const output = sequences.map((sequence) => state + sequence).join("");
          await seen(session, await show(session, output, USUAL));
          await target.expectPrompt(`every sequence, ${name}`);
        }
      target.expectModest("every sequence");
      session.cut();
      await target.expectUnharmed("afterwards");
    }));

  it("delays no other client, whatever is repeated or long", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const session = await target.session();
      const attacks = [
        ...Object.entries(floods(FLOOD_BYTES)).map(([name, text]) => [name, text, USUAL] as const),
        ...Object.entries(floods(HUGE_FLOOD_BYTES)).map(([name, text]) => [name, text, HUGE] as const),
        ...Object.entries(longStrings(STRING_BYTES)).map(([name, text]) => [name, text, USUAL] as const),
      ];
      for (const [name, text, size] of attacks) {
        const what = `${name} on ${size.cols} by ${size.rows}`;
        const lines = await seen(session, await show(session, `${text}\u001bcend`, size));
        expect(lines[0], what).toBe("end");
        await target.expectPrompt(what);
        target.expectModest(what);
      }
      session.cut();
      await target.expectUnharmed("afterwards");
    }));

  it("delays no other client if many terminals do it at once, and they are painted", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const session = await target.session();
      const texts = Object.values(floods(HUGE_FLOOD_BYTES));
      const shown = await Promise.all(
        Array.from({ length: TERMINALS }, (_, index) =>
          show(session, texts[index % texts.length]!, { rows: 150, cols: 500 }),
        ),
      );
      await Promise.all(shown.map((processId) => seen(session, processId, true)));
      await target.expectPrompt("many terminals");
      session.cut();
      await target.expectUnharmed("afterwards");
    }));

  it("does not keep a server from ending", async () => {
    await using target = await AttackedServer.start();
    const session = await target.session();
    const flood = "A\u001b[2147483647b\u001b[2147483647S".repeat(20_000);
    await show(session, flood, HUGE);
    // The screen is read once there is something to wait for.
    session.request("process/snapshot", { processId: `p-${started}`, screen: true }).catch(() => {});
    await target.bystanderWaits();
    const exit = await target.server.kill("SIGTERM");
    expect(exit.signal ?? exit.code).toBe(0);
  });
});
