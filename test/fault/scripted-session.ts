import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pollUntil } from "./deadline.ts";
import { FIRST_FIXED_WIDTH, fixedWidthOffset, numberedLines, onTerminal } from "./numbered-lines.ts";
import type { ProcessRecord } from "./process-record.ts";
import { ResumingSession } from "./resuming-session.ts";
import { runSeed, SeededRandom } from "./seeded-random.ts";

const DEADLINE_MS = 60_000;
const TICKS = 20;
const LINES_WRITTEN = 8;
const FLOOD_LAST = FIRST_FIXED_WIDTH + 3 * 65_536 - 1;
const RETAINED_BYTES = 1_048_576;
const LARGEST_CHUNK_BYTES = 65_536;

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

const count = (times: number, line: (i: number) => string): Buffer =>
  Buffer.from(Array.from({ length: times }, (_, i) => line(i)).join(""));

interface Expected {
  readonly exitCode: number;
  readonly output: Readonly<Record<string, Buffer>>;
}

const none = Buffer.alloc(0);
const EXPECTED: Readonly<Record<string, Expected>> = {
  lines: { exitCode: 0, output: { stdout: numberedLines(1, 2000), stderr: none } },
  burst: { exitCode: 9, output: { stdout: numberedLines(1, 40_000), stderr: none } },
  ticker: {
    exitCode: 3,
    output: { stdout: count(TICKS, (i) => `tick ${i}\n`), stderr: count(TICKS, (i) => `tock ${i}\n`) },
  },
  "terminal ticker": {
    exitCode: 4,
    output: { pty: onTerminal(count(TICKS, (i) => `tick ${i}\ntock ${i}\n`)) },
  },
  dialog: { exitCode: 5, output: { pty: Buffer.from("ready\r\ngot hello\r\n") } },
  reader: { exitCode: 7, output: { stdout: count(LINES_WRITTEN, (i) => `got line ${i}\n`), stderr: none } },
};
const FLOOD = { exitCode: 6, output: numberedLines(FIRST_FIXED_WIDTH, FLOOD_LAST) };

export interface Outcome {
  readonly messages: number;
  readonly cuts: number;
  /** Bytes of the flood that were evicted before they could be read. */
  readonly evictedBytes: number;
}

/** One whole session: every kind of process, with the connection cut after the given messages. Throws on any loss. */
export async function runScript(url: string, cutAfter: readonly number[], seed: number): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), "exec-server-cuts-"));
  const session = new ResumingSession(url, { cutAfter, random: new SeededRandom(seed) });
  try {
    await play(session, join(directory, "flooded"));
    const evictedBytes = await verify(session);
    return { messages: session.messages, cuts: session.cuts, evictedBytes };
  } catch (error) {
    const state = [...session.records.values()].join("\n  ");
    const plan = `FAULT_SEED=${runSeed}; this session: seed ${seed}, cut after ${cutAfter.join(", ")}`;
    throw new Error(`${describe(error)}\n  ${plan}\n  ${state}`, { cause: error });
  } finally {
    session.close();
    await rm(directory, { recursive: true, force: true });
  }
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function play(session: ResumingSession, flooded: string): Promise<void> {
  await session.start("lines", ["seq", "1", "2000"]);
  await Promise.all([
    session.start("ticker", ["sh", fixture("tick.sh"), String(TICKS), "3"]),
    session.start("terminal ticker", ["sh", fixture("tick.sh"), String(TICKS), "4"], { tty: true }),
    session.start("burst", ["sh", "-c", "seq 1 40000; exit 9"]),
  ]);
  const readerArgv = ["sh", fixture("answer-lines.sh"), String(LINES_WRITTEN), "7"];
  await session.start("reader", readerArgv, { pipeStdin: true });
  const writeLine = (i: number) => session.write("reader", `line ${i}\n`, `w${i}`);
  await Promise.all([writeLine(0), writeLine(1), writeLine(2)]);
  await session.start("dialog", ["sh", fixture("terminal-dialog.sh"), "5"], { tty: true });
  await session.until("dialog", (record) => record.output("pty").includes("ready"), DEADLINE_MS);
  await session.write("dialog", "hello\n", "1");
  for (let i = 3; i < LINES_WRITTEN - 1; i++) await writeLine(i);
  const floodArgv = [
    fixture("flood-after-line.sh"),
    String(FIRST_FIXED_WIDTH),
    String(FLOOD_LAST),
    flooded,
    "6",
  ];
  await session.start("flood", ["sh", ...floodArgv], { pipeStdin: true });
  await session.write("flood", "go\n", "1");
  await session.stayAwayUntil(() => fileExists(flooded));
  await writeLine(LINES_WRITTEN - 1);
}

function fileExists(path: string): Promise<void> {
  const look = () =>
    stat(path).then(
      () => true as const,
      () => false as const,
    );
  return pollUntil(look, DEADLINE_MS, () => `the file ${path}`).then(() => {});
}

async function verify(session: ResumingSession): Promise<number> {
  const ended = (record: ProcessRecord) => record.isClosed && record.exitCode !== undefined;
  for (const processId of Object.keys(EXPECTED)) {
    await session.until(processId, (record) => ended(record) && record.lostEvents === 0, DEADLINE_MS);
  }
  await session.until("flood", ended, DEADLINE_MS);
  await session.settled();
  for (const [processId, record] of session.records) {
    record.compareRetained(await session.readRetained(processId));
  }
  const faults = [...session.records.values()].flatMap((record) => record.faults);
  for (const [processId, expected] of Object.entries(EXPECTED)) {
    faults.push(...compareWhole(recordOf(session, processId), expected));
  }
  const flood = recordOf(session, "flood");
  faults.push(...compareGapped(flood));
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return FLOOD.output.length - flood.output("stdout").length;
}

function recordOf(session: ResumingSession, processId: string): ProcessRecord {
  const record = session.records.get(processId);
  if (record === undefined) throw new Error(`${processId} was never started`);
  return record;
}

function compareWhole(record: ProcessRecord, expected: Expected): string[] {
  const faults: string[] = [];
  if (record.exitCode !== expected.exitCode)
    faults.push(`exit code ${record.exitCode}, not ${expected.exitCode}`);
  if (record.afterClosed.length > 0) faults.push(`events ${record.afterClosed.join(", ")} after closed`);
  for (const [stream, bytes] of Object.entries(expected.output)) {
    const seen = record.output(stream);
    if (!seen.equals(bytes))
      faults.push(`${stream} has ${seen.length} bytes, not the ${bytes.length} written`);
  }
  return faults.map((fault) => `${record.processId}: ${fault}`);
}

/** Output may be missing, but only visibly, only for lack of room, and every piece that came is the right one. */
function compareGapped(record: ProcessRecord): string[] {
  const faults: string[] = [];
  if (record.exitCode !== FLOOD.exitCode) faults.push(`exit code ${record.exitCode}, not ${FLOOD.exitCode}`);
  if (record.afterClosed.length > 0) faults.push(`events ${record.afterClosed.join(", ")} after closed`);
  let end = 0;
  // End of the last hole in the content. The number of an exit learnt from process/read makes no hole.
  let tailFrom = 0;
  const runs = record.runs("stdout");
  for (const { firstSeq, bytes } of runs) {
    const offset = firstSeq === 1 ? 0 : fixedWidthOffset(bytes);
    if (offset < end || !FLOOD.output.subarray(offset, offset + bytes.length).equals(bytes)) {
      faults.push(`the output from event ${firstSeq} is not what was written`);
    }
    if (offset > end && record.lostEvents === 0)
      faults.push(`bytes ${end} to ${offset} are missing silently`);
    if (offset > end) tailFrom = offset;
    end = offset + bytes.length;
  }
  if (end !== FLOOD.output.length) faults.push(`output ends at ${end} of ${FLOOD.output.length}`);
  if (tailFrom > 0 && end - tailFrom < RETAINED_BYTES - LARGEST_CHUNK_BYTES) {
    const pieces = runs
      .map(({ firstSeq, bytes }) => `${bytes.length} bytes from event ${firstSeq}`)
      .join(", ");
    faults.push(`more was evicted than the bound asks for: ${pieces}`);
  }
  return faults.map((fault) => `${record.processId}: ${fault}`);
}
