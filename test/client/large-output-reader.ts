// Reads a large output through the client and reports its hash and the memory used. large-output.test.ts starts it as a
// separate program, so that nothing else is measured.
import { createHash } from "node:crypto";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { forgetPeak, peakResidentBytes, residentBytes } from "../fault/proc-fs.ts";

const [url = "", warmUp = "[]", command = "[]"] = process.argv.slice(2);

export interface LargeOutputReport {
  readonly sha256: string;
  readonly bytes: number;
  /** Resident bytes beyond those after a warm-up, at the most. */
  readonly growthBytes: number;
  readonly seconds: number;
  readonly exitCode: number | null;
}

async function hashOutput(
  host: Host,
  argv: readonly string[],
): Promise<{ sha256: string; bytes: number; exitCode: number | null }> {
  const remote = await host.start(argv);
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of remote.output()) {
    hash.update(chunk.bytes);
    bytes += chunk.bytes.length;
  }
  const { exitCode } = await remote.exited;
  return { sha256: hash.digest("hex"), bytes, exitCode };
}

async function main(): Promise<void> {
  const host = await connect(url);
  await hashOutput(host, JSON.parse(warmUp) as string[]);
  const before = residentBytes(process.pid);
  forgetPeak(process.pid);
  const begun = performance.now();
  const hashed = await hashOutput(host, JSON.parse(command) as string[]);
  const report: LargeOutputReport = {
    ...hashed,
    growthBytes: peakResidentBytes(process.pid) - before,
    seconds: (performance.now() - begun) / 1000,
  };
  await host.close();
  process.stdout.write(JSON.stringify(report));
}

void main();
