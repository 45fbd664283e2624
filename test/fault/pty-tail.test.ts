import { describe, expect, it } from "vitest";
import { withDeadline } from "./deadline.ts";
import { numberedLines, onTerminal } from "./numbered-lines.ts";
import { ProcessRecord } from "./process-record.ts";
import { startServer } from "./server-under-test.ts";
import { openSession, startParams } from "./session-client.ts";

const LAST_LINE = 20_000;
const AT_A_TIME = 64;
const ROUNDS = 20;
const ROUND_DEADLINE_MS = 120_000;

describe("the end of a terminal's output", () => {
  it("is never lost, however many terminals end at once", async () => {
    const expected = onTerminal(numberedLines(1, LAST_LINE));
    await using server = await startServer();
    const records = new Map<string, ProcessRecord>();
    const running = new Set<ProcessRecord>();
    let allOver = () => {};
    const client = await openSession(server.url, {
      onNotification: (notification) => {
        const record = records.get(notification.params.processId);
        record?.addNotification(notification);
        // Numbers, not arrival, show whether something is missing: `closed` may overtake what it follows.
        if (!record?.isClosed || record.exitCode === undefined || record.lostEvents > 0) return;
        running.delete(record);
        if (running.size === 0) allOver();
      },
    });
    for (let round = 1; round <= ROUNDS; round++) {
      const batch = Array.from(
        { length: AT_A_TIME },
        (_, i) => new ProcessRecord(`round ${round} terminal ${i}`),
      );
      for (const record of batch) {
        records.set(record.processId, record);
        running.add(record);
      }
      const over = new Promise<void>((resolve) => {
        allOver = resolve;
      });
      await Promise.all(
        batch.map(({ processId }) =>
          client.request(
            "process/start",
            startParams(processId, ["seq", "1", String(LAST_LINE)], { tty: true }),
          ),
        ),
      );
      await withDeadline(over, ROUND_DEADLINE_MS, () => [...running].join("\n"));
      const wrong = batch.filter((record) => record.exitCode !== 0 || !record.output("pty").equals(expected));
      const seen = wrong.map((record) => `${record.toString()}, ${record.output("pty").length} bytes`);
      expect(seen).toEqual([]);
      expect(batch.flatMap((record) => record.faults)).toEqual([]);
      records.clear();
    }
    client.cut();
  });
});
