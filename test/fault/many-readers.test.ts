import { createHash, type Hash } from "node:crypto";
import { expect, it } from "vitest";
import { pollUntil } from "./deadline.ts";
import { percentile } from "./latencies.ts";
import { FIRST_FIXED_WIDTH, fixedWidthOffset, numberedLines } from "./numbered-lines.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { type Notification, type ReadResult, SessionClient, startParams } from "./session-client.ts";

const READERS = 10;
const LINE_BYTES = 16;
/** Half of what a log keeps: a reader cannot miss any of a block. */
const BLOCK_BYTES = 512 * 1024;
const BLOCK_LINES = BLOCK_BYTES / LINE_BYTES;
/** Far more than the kernel and the server keep for a connection that does not read. */
const BLOCKS = 96;
const TOTAL_BYTES = BLOCKS * BLOCK_BYTES;
const DEADLINE_MS = 120_000;
/** A wait of the server's would be in every block. A busy machine holds up many of them, but not the fastest. */
const FASTEST = 0.25;
const NOISE_MS = 15;
const WRITER = 'while read -r first last; do seq "$first" "$last"; done';

interface Gap {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** One connection that follows the process of another session, from its first event on. */
class Reader {
  readonly client: SessionClient;
  readonly gaps: Gap[] = [];
  readonly #hash: Hash = createHash("sha256");
  bytes = 0;
  nextSeq = 1;
  /** Position in the whole output after the last gap. */
  resumedAt: number | undefined;
  closed = false;

  static async attach(url: string, sessionId: string): Promise<Reader> {
    const reader: Reader = new Reader(
      await SessionClient.connect(url, { onNotification: (notification) => reader.#take(notification) }),
    );
    await reader.client.initialize();
    await reader.client.request("process/attach", { sessionId, processId: "p", fromSeq: 1 });
    return reader;
  }

  constructor(client: SessionClient) {
    this.client = client;
  }

  #take({ method, params }: Notification): void {
    if (method === "process/gap") {
      this.gaps.push({ fromSeq: params.fromSeq, toSeq: params.toSeq });
      expect(params.fromSeq).toBe(this.nextSeq);
      this.nextSeq = params.toSeq + 1;
      this.resumedAt = undefined;
      return;
    }
    expect(params.seq).toBe(this.nextSeq);
    this.nextSeq += 1;
    if (method === "process/closed") this.closed = true;
    if (method !== "process/output") return;
    const piece = Buffer.from(params.chunk, "base64");
    this.resumedAt ??= fixedWidthOffset(piece);
    this.#hash.update(piece);
    this.bytes += piece.length;
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

/** A server whose ten readers get the output block by block; `stopped` of them read nothing until the others have all. */
class Readers implements AsyncDisposable {
  /** Milliseconds that each block took until all who read had it. */
  readonly blockMs: number[] = [];
  readonly #server: ServerUnderTest;
  readonly #owner: SessionClient;
  readonly #idle: readonly Reader[];
  readonly #busy: readonly Reader[];

  static async open({ stopped }: { stopped: number }): Promise<Readers> {
    const server = await startServer();
    const owner = await SessionClient.connect(server.url);
    const sessionId = await owner.initialize();
    await owner.request("process/start", startParams("p", ["sh", "-c", WRITER], { pipeStdin: true }));
    await owner.request("process/detach", { processId: "p" });
    const all: Reader[] = [];
    for (let i = 0; i < READERS; i++) all.push(await Reader.attach(server.url, sessionId));
    for (const { client } of all.slice(0, stopped)) client.stopReading();
    return new Readers(server, owner, all, stopped);
  }

  private constructor(
    server: ServerUnderTest,
    owner: SessionClient,
    all: readonly Reader[],
    stopped: number,
  ) {
    this.#server = server;
    this.#owner = owner;
    this.#idle = all.slice(0, stopped);
    this.#busy = all.slice(stopped);
  }

  async next(): Promise<void> {
    const block = this.blockMs.length;
    const first = FIRST_FIXED_WIDTH + block * BLOCK_LINES;
    const line = `${first} ${first + BLOCK_LINES - 1}\n`;
    const began = performance.now();
    await this.#owner.request("process/write", {
      processId: "p",
      chunk: Buffer.from(line).toString("base64"),
      writeId: `${block}`,
    });
    await pollUntil(
      () => this.#busy.every(({ bytes }) => bytes >= (block + 1) * BLOCK_BYTES),
      DEADLINE_MS,
      () => `block ${block}: ${this.#busy.map(({ bytes }) => bytes).join(", ")}`,
    );
    this.blockMs.push(performance.now() - began);
  }

  /** Those who stopped catch up. Resolves with the hashes of what the others got. */
  async finish(): Promise<string[]> {
    for (const reader of this.#idle) await catchUp(reader);
    await this.#owner.request("process/closeStdin", { processId: "p" });
    const all = [...this.#idle, ...this.#busy];
    await pollUntil(
      () => all.every(({ closed }) => closed),
      DEADLINE_MS,
      () => "closed everywhere",
    );
    for (const { gaps } of this.#busy) expect(gaps).toEqual([]);
    return this.#busy.map((reader) => reader.digest());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client } of [...this.#idle, ...this.#busy]) client.cut();
    this.#owner.cut();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** It learns what it missed, and gets the rest up to the live end, both unasked and on request. */
async function catchUp(reader: Reader): Promise<void> {
  const { client } = reader;
  client.resumeReading();
  const { toSeq } = await pollUntil(
    () => reader.gaps.at(-1) ?? false,
    DEADLINE_MS,
    () => "a gap",
  );
  const read = await client.request<ReadResult>("process/read", { processId: "p", afterSeq: toSeq });
  const rest = Buffer.concat(read.chunks.map(({ chunk }) => Buffer.from(chunk, "base64")));
  expect(read.chunks[0]?.seq).toBe(toSeq + 1);
  const offset = fixedWidthOffset(rest);
  expect(offset + rest.length).toBe(TOTAL_BYTES);
  expect(rest.equals(wholeOutput().subarray(offset))).toBe(true);
  await pollUntil(
    () => reader.nextSeq === read.nextSeq,
    DEADLINE_MS,
    () => `event ${read.nextSeq - 1}, the newest is ${reader.nextSeq - 1}`,
  );
  expect(reader.resumedAt).toBe(offset);
  expect(reader.bytes).toBeLessThan(TOTAL_BYTES);
}

let knownOutput: Buffer | undefined;

function wholeOutput(): Buffer {
  knownOutput ??= numberedLines(FIRST_FIXED_WIDTH, FIRST_FIXED_WIDTH + BLOCKS * BLOCK_LINES - 1);
  return knownOutput;
}

it("a reader that stops takes nothing from nine others, and learns what it missed", async () => {
  const expected = createHash("sha256").update(wholeOutput()).digest("hex");
  await using without = await Readers.open({ stopped: 0 });
  await using withOne = await Readers.open({ stopped: 1 });
  // By turns, so that the machine is as slow for the one as for the other.
  for (let block = 0; block < BLOCKS; block++) for (const readers of [without, withOne]) await readers.next();
  expect(await without.finish()).toEqual(Array.from({ length: READERS }, () => expected));
  expect(await withOne.finish()).toEqual(Array.from({ length: READERS - 1 }, () => expected));
  // The first blocks of the one that stopped still fit into buffers.
  const [usual, withStopped] = [without, withOne].map(({ blockMs }) =>
    percentile(blockMs.slice(BLOCKS / 2), FASTEST),
  );
  expect(withStopped).toBeLessThan(usual! * 1.5 + NOISE_MS);
});
