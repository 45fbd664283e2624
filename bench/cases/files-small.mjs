import { readFile } from "node:fs/promises";
import { openFilesFixture } from "../files-fixture.mjs";
import { patternBytes } from "../pattern.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { inLanes, inTurn, withDeadline } from "../waiting.mjs";

const IN_FLIGHT = 16;
const KIB = 1024;
const CONTENT = patternBytes(KIB).toString("base64");

async function measure(server, fixture, count) {
  return inSession(server, async ({ wire }) => {
    const path = fixture.uri("small");
    const target = fixture.uri("written");
    const rate = async (request) => {
      const seconds = await withDeadline(inLanes(count, IN_FLIGHT, request), "small file requests");
      return count / seconds;
    };
    const { dataBase64 } = await wire.request("fs/readFile", { path });
    if (dataBase64 !== CONTENT) throw new Error("fs/readFile gave other bytes than the file's");
    const read = () => wire.request("fs/readFile", { path });
    const times = await withDeadline(inTurn(count / IN_FLIGHT, read), "reads in turn");
    const values = {
      "read p50 us": quantile(times, 0.5),
      "read p99 us": quantile(times, 0.99),
      "read 1 KiB /s": await rate(read),
      "write 1 KiB /s": await rate(() => wire.request("fs/writeFile", { path: target, dataBase64: CONTENT })),
      "stat /s": await rate(() => wire.request("fs/getMetadata", { path })),
    };
    if ((await readFile(fixture.path("written"), "base64")) !== CONTENT) {
      throw new Error("fs/writeFile wrote other bytes than were sent");
    }
    return values;
  });
}

export default {
  name: "files-small",
  about: `files of 1 KiB read one after another; read and written whole, and their metadata, ${IN_FLIGHT} requests in flight`,
  transports: ["ws"],
  metrics: [
    { name: "read p50 us", better: "lower" },
    { name: "read p99 us", better: "lower" },
    ...["read 1 KiB /s", "write 1 KiB /s", "stat /s"].map((name) => ({ name, better: "higher" })),
  ],
  setUp: async () => {
    const fixture = await openFilesFixture();
    await fixture.writePattern("small", KIB);
    return fixture;
  },
  warmUp: ({ server, fixture }) => measure(server, fixture, 10_000),
  firstCalls: ({ server, fixture }) => measure(server, fixture, 4_800),
  run: ({ server, fixture, quick }) => measure(server, fixture, quick ? 2_000 : 15_000),
};
