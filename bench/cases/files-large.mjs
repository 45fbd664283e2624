import { readFile } from "node:fs/promises";
import { byteCount, bytesOf } from "../bulk.mjs";
import { openFilesFixture, sha256 } from "../files-fixture.mjs";
import { MIB } from "../output-stream.mjs";
import { patternBytes } from "../pattern.mjs";
import { inSession } from "../session.mjs";
import { withDeadline } from "../waiting.mjs";

const READ_BYTES = 64 * MIB;
const WRITE_BYTES = 8 * MIB;
const BLOCK_BYTES = MIB;
const BLOCKS_IN_FLIGHT = 4;
const ENTRIES = 10_000;

const secondsOf = async (work) => {
  const begun = performance.now();
  await withDeadline(work(), "a large file request");
  return (performance.now() - begun) / 1000;
};

async function readWhole(wire, path) {
  const bytes = await wire.request("fs/readFile", { path }, (message) => byteCount(message, "dataBase64"));
  if (bytes !== READ_BYTES) throw new Error(`fs/readFile gave ${bytes} bytes`);
}

async function readBlocks(wire, path) {
  await wire.request("fs/open", { handleId: "large", path });
  let offset = 0;
  let received = 0;
  const lane = async () => {
    while (offset < READ_BYTES) {
      const at = offset;
      offset += BLOCK_BYTES;
      const params = { handleId: "large", offset: at, len: BLOCK_BYTES };
      const bytes = await wire.request("fs/readBlock", params, (message) => byteCount(message));
      received += bytes;
    }
  };
  await Promise.all(Array.from({ length: BLOCKS_IN_FLIGHT }, lane));
  await wire.request("fs/close", { handleId: "large" });
  if (received !== READ_BYTES) throw new Error(`fs/readBlock gave ${received} bytes`);
}

/** The request is encoded before the clock starts: that is the client's work, not the server's. */
async function writeSeconds(wire, path, dataBase64) {
  const request = wire.prepare("fs/writeFile", { path, dataBase64 });
  return secondsOf(() => wire.send(request));
}

async function measure(server, { uri, dataBase64 }, repeat) {
  return inSession(server, async ({ wire }) => {
    // The client's buffers grow with the first read.
    await readWhole(wire, uri("large"));
    // Measure each kind separately: interleaved, one would pay for the garbage of another.
    const total = async (count, work) => {
      let seconds = 0;
      for (let i = 0; i < count; i++) seconds += await work();
      return seconds;
    };
    const read = await total(repeat, () => secondsOf(() => readWhole(wire, uri("large"))));
    const blocks = await total(repeat, () => secondsOf(() => readBlocks(wire, uri("large"))));
    const write = await total(4 * repeat, () => writeSeconds(wire, uri("written"), dataBase64));
    // Only the length of the answer is checked: parsing it would cost the client more than the server.
    const list = await total(4 * repeat, () =>
      secondsOf(() => wire.request("fs/readDirectory", { path: uri("many") }, (message) => message.length)),
    );
    return {
      "read 64 MiB MB/s": (repeat * READ_BYTES) / 1e6 / read,
      "64 blocks of 1 MiB MB/s": (repeat * READ_BYTES) / 1e6 / blocks,
      "write 8 MiB MB/s": (repeat * 4 * WRITE_BYTES) / 1e6 / write,
      "readdir 10 000 /s": (repeat * 4) / list,
    };
  });
}

async function verify(server, { uri, path, dataBase64 }) {
  await inSession(server, async ({ wire }) => {
    const read = await wire.request("fs/readFile", { path: uri("large") }, (message) =>
      sha256(bytesOf(message, "dataBase64")),
    );
    if (read !== sha256(await readFile(path("large")))) throw new Error("fs/readFile gave other bytes");
    await wire.request("fs/writeFile", { path: uri("written"), dataBase64 });
    const written = sha256(await readFile(path("written")));
    if (written !== sha256(Buffer.from(dataBase64, "base64"))) {
      throw new Error("fs/writeFile wrote other bytes than were sent");
    }
    const { entries } = await wire.request("fs/readDirectory", { path: uri("many") });
    if (entries.length !== ENTRIES) throw new Error(`fs/readDirectory gave ${entries.length} entries`);
  });
}

export default {
  name: "files-large",
  about:
    "64 MiB read in one request and in blocks, 8 MiB written in one request, a directory of 10 000 listed",
  transports: ["ws"],
  metrics: ["read 64 MiB MB/s", "64 blocks of 1 MiB MB/s", "write 8 MiB MB/s", "readdir 10 000 /s"].map(
    (name) => ({
      name,
      better: "higher",
    }),
  ),
  setUp: async () => {
    const fixture = await openFilesFixture();
    await fixture.writePattern("large", READ_BYTES);
    await fixture.writeMany("many", ENTRIES);
    return { ...fixture, dataBase64: patternBytes(WRITE_BYTES).toString("base64") };
  },
  warmUp: async ({ server, fixture }) => {
    await verify(server, fixture);
    await measure(server, fixture, 3);
    await measure(server, fixture, 3);
  },
  firstCalls: ({ server, fixture }) => measure(server, fixture, 1),
  run: ({ server, fixture, quick }) => measure(server, fixture, quick ? 1 : 4),
};
