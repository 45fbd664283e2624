import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { AuditLog } from "./audit-log.ts";

const FLUSH_DELAY_MS = 20;
/** Some in the time of each write, and fewer than one write takes in each period. */
const LINES_PER_MS = 20;

function openLog(): AuditLog {
  const directory = mkdtempSync(join(tmpdir(), "exec-server-audit-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return new AuditLog({
    file: join(directory, "audit.jsonl"),
    maxBytes: 1024 * 1024 * 1024,
    logger: silentLogger,
    version: undefined,
  });
}

it("lines that come while others are written wait for more, so that there are few writes", async () => {
  const log = openLog();
  const heads = new Set<number>();
  const begun = performance.now();
  let lines = 0;
  for (let now = begun; now < begun + 300 || heads.size < 4; now = performance.now()) {
    if (lines < (now - begun) * LINES_PER_MS) log.add("test", { line: ++lines });
    await turn();
    heads.add(log.head.line);
  }
  // A timer may come a fraction of a millisecond early. The first head is from before the first write.
  const periods = (performance.now() - begun) / (FLUSH_DELAY_MS - 1);
  expect(heads.size - 1).toBeLessThanOrEqual(periods + 1);
  await log.close();
  // With `opened` and `stopped`.
  expect(log.head.line).toBe(lines + 2);
});
