import { expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { RefusalLog } from "./refusal-log.ts";

it("refused logins are logged up to a bound, and counted beyond it", () => {
  const lines: unknown[] = [];
  let now = 0;
  const log = new RefusalLog({ ...silentLogger, warn: (_, fields) => lines.push(fields) }, () => now);
  for (let count = 0; count < 25; count += 1) log.refused("no token", "127.0.0.1:5");
  expect(lines).toHaveLength(10);
  expect(lines[0]).toEqual({ reason: "no token", from: "127.0.0.1:5" });
  now = 60_000;
  log.refused("no token", undefined);
  log.refused("no token", undefined);
  expect(lines.slice(10)).toEqual([{ reason: "no token", unloggedBefore: 15 }, { reason: "no token" }]);
});
