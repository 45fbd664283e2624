import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { serve } from "../../src/server/index.ts";
import { pollUntil } from "../fault/deadline.ts";

const DEADLINE_MS = 60_000;

const open = () => serve({ environment: { PATH: process.env["PATH"] } });

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync("/var/tmp/two-servers-");
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

it("a protected name stays reserved in a sandbox when that of another server with the same directory ends", async () => {
  await using one = await open();
  await using other = await open();
  await using first = await connect(one.url);
  await using second = await connect(other.url);
  const options = { cwd, sandbox: { write: ["."] }, stdin: "pipe" } as const;
  const script = "while read -r _; do mkdir -p .git/hooks && echo made; done 2>/dev/null; echo end";
  const ending = await first.start(["cat"], options);
  await pollUntil(
    () => existsSync(join(cwd, ".git")),
    DEADLINE_MS,
    () => "the placeholder",
  );
  const running = await second.start(["/bin/sh", "-c", `echo ready; ${script}`], options);
  const lines = running.lines()[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  await ending.closeStdin();
  await ending.exited;
  await first.close();
  await one.close();
  await running.write("now\n");
  await running.closeStdin();
  expect((await lines.next()).value).toBe("end");
  await running.exited;
  await pollUntil(
    () => !existsSync(join(cwd, ".git")),
    DEADLINE_MS,
    () => "its end",
  );
});
