import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import type { OutputChunk } from "../../src/client/routes/process-events.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { hashOutput } from "../fault/child-output-hash.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { FIRST_FIXED_WIDTH } from "../fault/numbered-lines.ts";
import { writtenBytes } from "../fault/proc-fs.ts";
import { startServer } from "../fault/server-under-test.ts";
import { bundleScript } from "./bundled-script.ts";
import { clientTargets, usingTarget } from "./client-targets.ts";
import type { LargeOutputReport } from "./large-output-reader.ts";

const MEBIBYTE = 1024 * 1024;
/** LARGE_OUTPUT_MIB=1024 is the long form. */
const mebibytes = Number(process.env["LARGE_OUTPUT_MIB"] ?? 256);
const WARM_UP_MIB = 64;
const MAX_GROWTH_BYTES = 64 * MEBIBYTE;
const READ_DEADLINE_MS = 60_000 + mebibytes * 200;
const LINE_BYTES = 16;

/** Numbered lines of 16 bytes: that many MiB of them, and each at one place only. */
const linesOf = (size: number): [string, ...string[]] => [
  "seq",
  String(FIRST_FIXED_WIDTH),
  String(FIRST_FIXED_WIDTH + (size * MEBIBYTE) / LINE_BYTES - 1),
];

test(
  `${mebibytes} MiB of output are read byte for byte in little memory`,
  async () => {
    await using server = await startServer();
    await using script = await bundleScript("large-output-reader.ts");
    const command = linesOf(mebibytes);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [script.path, server.url, JSON.stringify(linesOf(WARM_UP_MIB)), JSON.stringify(command)],
      { timeout: READ_DEADLINE_MS },
    );
    const report = JSON.parse(stdout) as LargeOutputReport;
    process.stdout.write(`${stdout}\n`);
    const [program, ...args] = command;
    const { sha256, bytes } = await hashOutput(program, args);
    expect(bytes).toBe(mebibytes * MEBIBYTE);
    expect(report).toMatchObject({ sha256, bytes, exitCode: 0 });
    expect(report.growthBytes).toBeLessThan(MAX_GROWTH_BYTES);
  },
  READ_DEADLINE_MS + 60_000,
);

const STOPPED_MIB = 32;
/** Looks in a row at which nothing has moved, half a second in all. A machine that stands still is one of them. */
const STILL_LOOKS = 100;
const DEADLINE_MS = 60_000;

/**
 * Resolves with the count once it has not changed for a while, in which the server did not stand still either: it
 * answers before each look, if a reader that stops leaves it free to.
 */
async function standsStill(pid: number, host: Host): Promise<number> {
  let last = -1;
  let still = 0;
  return pollUntil(
    async () => {
      if (host.supports("process/flow")) await host.request("environment/status", {});
      const now = writtenBytes(pid);
      still = now === last ? still + 1 : 0;
      last = now;
      return still >= STILL_LOOKS ? now : false;
    },
    DEADLINE_MS,
    () => `the process to stop writing; it is at ${last}`,
  );
}

describe.each(clientTargets)("a reader that stops, $name", ({ start }) => {
  let host: Host;

  usingTarget(start, (connected) => (host = connected));

  /** Starts a process that writes a lot, and reads its pid only. */
  async function startWriter(): Promise<{
    writer: RemoteProcess;
    reader: AsyncIterableIterator<OutputChunk>;
    pid: number;
  }> {
    const script = 'echo $$; read -r go; exec "$@"';
    const argv = ["/bin/sh", "-c", script, "sh", ...linesOf(STOPPED_MIB)];
    const writer = await host.start(argv, { stdin: "pipe" });
    const reader = writer.output();
    const { value } = await withDeadline(reader.next(), DEADLINE_MS, () => "the pid");
    const { bytes } = value as OutputChunk;
    await writer.write("go\n");
    return { writer, reader, pid: Number(Buffer.from(bytes).toString()) };
  }

  test("stops the process, and continues later with nothing lost", async () => {
    const { writer, reader, pid } = await startWriter();
    const stoppedAt = await standsStill(pid, host);
    expect(stoppedAt).toBeLessThan(STOPPED_MIB * MEBIBYTE);
    const info = await withDeadline(host.request("environment/info", {}), DEADLINE_MS, () => "an answer");
    expect(info).toHaveProperty("cwd");
    if (host.supports("process/flow")) {
      const { stdout } = await withDeadline(host.run(["echo", "beside it"]), DEADLINE_MS, () => "a run");
      expect(stdout).toBe("beside it\n");
      expect(await standsStill(pid, host)).toBe(stoppedAt);
    }
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of reader) {
      hash.update(chunk.bytes);
      bytes += chunk.bytes.length;
    }
    const [program, ...args] = linesOf(STOPPED_MIB);
    expect({ bytes, sha256: hash.digest("hex") }).toEqual(await hashOutput(program, args));
    expect(await writer.exited).toMatchObject({ exitCode: 0 });
  });

  test("who leaves the loop lets the process run to its end", async () => {
    const { writer, reader, pid } = await startWriter();
    await standsStill(pid, host);
    await reader.return?.();
    expect(await withDeadline(writer.exited, DEADLINE_MS, () => "the exit")).toMatchObject({ exitCode: 0 });
  });
});
