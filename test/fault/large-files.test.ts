import { createHash } from "node:crypto";
import {
  closeSync,
  createReadStream,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pollUntil } from "./deadline.ts";
import { uriOf } from "./file-requests.ts";
import { FrameWatch } from "./frame-watch.ts";
import { forgetPeak, openDescriptors, peakResidentBytes, residentBytes } from "./proc-fs.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { startServer } from "./server-under-test.ts";
import { openSession, SessionClient } from "./session-client.ts";

const MIB = 1024 * 1024;
const WHOLE_FILE_BYTES = 64 * MIB;
const MAX_FRAME_BYTES = 4 * MIB;
const COPIED_BYTES = (faultRounds > 1 ? 2048 : 512) * MIB;
const BLOCK_BYTES = MIB;
const BLOCKS_IN_FLIGHT = 8;
/** However large the file: base64 of the blocks in flight, and what of earlier ones waits for the collector. */
const MAX_COPY_GROWTH_BYTES = 160 * MIB;
const LONG_FORM_MS = 10 * 60_000;
const DEADLINE_MS = 60_000;

describe("a large file", () => {
  let base: string;

  beforeAll(() => {
    base = mkdtempSync("/var/tmp/exec-server-large-");
  });

  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("is read whole in frames that any client takes, without many copies in memory", async () => {
    await using server = await startServer();
    const contents = Buffer.concat(
      Array.from({ length: WHOLE_FILE_BYTES / MIB }, (_, i) => patternedBlock(i)),
    );
    writeFileSync(`${base}/whole`, contents);
    const client = await SessionClient.connect(server.url);
    const frames = new FrameWatch(client.socket);
    await client.initialize();
    const before = residentBytes(server.pid);
    forgetPeak(server.pid);
    const { dataBase64 } = await client.request<{ dataBase64: string }>("fs/readFile", {
      path: uriOf(`${base}/whole`),
    });
    const grown = peakResidentBytes(server.pid) - before;
    expect(createHash("sha256").update(dataBase64, "base64").digest("hex")).toBe(
      createHash("sha256").update(contents).digest("hex"),
    );
    expect(dataBase64.length).toBe(Math.ceil(WHOLE_FILE_BYTES / 3) * 4);
    expect(Math.max(...frames.lengths)).toBeLessThanOrEqual(MAX_FRAME_BYTES);
    const received = frames.lengths.reduce((sum, length) => sum + length, 0);
    expect(received).toBeGreaterThan(dataBase64.length);
    expect(grown).toBeLessThanOrEqual(4 * WHOLE_FILE_BYTES);
  });

  it(
    "is copied block by block with little memory",
    async () => {
      await using server = await startServer();
      const client = await openSession(server.url);
      const [source, destination] = [`${base}/source`, `${base}/destination`];
      makePatternedFile(source, COPIED_BYTES);
      await client.request("fs/open", { handleId: "from", path: uriOf(source) });
      await client.request("fs/open", { handleId: "to", path: uriOf(destination), mode: "replace" });
      const descriptors = openDescriptors(server.pid).length;
      const copyBlock = async (offset: number): Promise<boolean> => {
        const { chunk, eof } = await client.request<{ chunk: string; eof: boolean }>("fs/readBlock", {
          handleId: "from",
          offset,
          len: BLOCK_BYTES,
        });
        if (chunk !== "") await client.request("fs/writeBlock", { handleId: "to", offset, chunk });
        return !eof;
      };
      await copyBlock(0);
      const before = residentBytes(server.pid);
      forgetPeak(server.pid);
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let more = true; more; ) {
          const offset = next;
          next += BLOCK_BYTES;
          more = await copyBlock(offset);
        }
      };
      await Promise.all(Array.from({ length: BLOCKS_IN_FLIGHT }, lane));
      const grown = peakResidentBytes(server.pid) - before;
      await client.request("fs/close", { handleId: "from" });
      await client.request("fs/close", { handleId: "to" });
      expect(statSync(destination).size).toBe(COPIED_BYTES + LAST_PIECE_BYTES);
      expect(await hashOf(destination)).toBe(await hashOf(source));
      await pollUntil(
        () => openDescriptors(server.pid).length === descriptors - 2,
        DEADLINE_MS,
        () => `${descriptors - 2} descriptors instead of ${openDescriptors(server.pid).join(", ")}`,
      );
      expect(grown).toBeLessThan(MAX_COPY_GROWTH_BYTES);
    },
    LONG_FORM_MS,
  );
});

/** The end of the file is not the end of a block. */
const LAST_PIECE_BYTES = 12_345;

/** No two blocks are the same. */
function patternedBlock(index: number): Buffer {
  const random = new SeededRandom(runSeed + index);
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let at = 0; at < block.length; at += 4) block.writeUInt32LE((random.next() * 2 ** 32) >>> 0, at);
  return block;
}

/** A file with holes: every block is recognized by its beginning and its end, and every 16th throughout. */
function makePatternedFile(path: string, length: number): void {
  const fd = openSync(path, "w");
  for (let at = 0; at < length; at += BLOCK_BYTES) {
    const index = at / BLOCK_BYTES;
    if (index % 16 === 0) writeSync(fd, patternedBlock(index), 0, BLOCK_BYTES, at);
    writeSync(fd, `block ${index} begins`, at);
    writeSync(fd, `ends ${index}`, at + BLOCK_BYTES - 20);
  }
  closeSync(fd);
  truncateSync(path, length + LAST_PIECE_BYTES);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: MIB }), hash);
  return hash.digest("hex");
}
