import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createLogger, type LogFormat } from "./log.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-log-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Lines of the log, without their times. */
function logged(format: LogFormat, write: (logger: ReturnType<typeof createLogger>) => void): string[] {
  const file = join(directory, format);
  write(createLogger({ level: "info", file, format }));
  const text = readFileSync(file, "utf8").replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
  return text.trimEnd().split("\n");
}

it("a line is a JSON object, or words for people", () => {
  const write = (logger: ReturnType<typeof createLogger>): void => {
    logger.warn("a login was refused", {
      reason: "no token\u001b[31m\n\u009b\u2028\u202e",
      from: "127.0.0.1:5",
      tries: 2,
      by: undefined,
    });
    logger.debug("nobody sees this");
    logger.info("stopping");
  };
  expect(logged("json", write)).toEqual([
    '{"time":"TIME","level":"warn","message":"a login was refused","reason":"no token\\u001b[31m\\n\\u009b\\u2028\\u202e","from":"127.0.0.1:5","tries":2}',
    '{"time":"TIME","level":"info","message":"stopping"}',
  ]);
  expect(logged("text", write)).toEqual([
    'TIME warn  a login was refused reason="no token\\u001b[31m\\n\\u009b\\u2028\\u202e" from=127.0.0.1:5 tries=2',
    "TIME info  stopping",
  ]);
});
