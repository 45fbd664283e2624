import fc from "fast-check";
import { expect, test } from "vitest";
import { StreamPair } from "../../test/relay/stream-pair.ts";

/** FUZZ_RUNS=1000000 is the long form of all fuzzers; FAULT_SEED repeats a run. */
const numRuns = Math.ceil(Number(process.env["FUZZ_RUNS"] ?? 3_000) / 50);
const seed = Number(process.env["FAULT_SEED"] ?? 20_260_822);
const timeout = 30_000 + 100 * numRuns;
/** How far records may arrive ahead of one that is missing. */
const WINDOW = 64;

const message = fc.oneof(
  { arbitrary: fc.string({ minLength: 1, maxLength: 40 }), weight: 6 },
  fc
    .tuple(fc.constantFrom("x", "ü"), fc.integer({ min: 1, max: 200_000 }))
    .map(([text, count]) => text.repeat(count)),
);
const messages = fc.array(message, { minLength: 1, maxLength: 30, size: "max" });
const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("records that come late, early or twice within the window are put in order", { timeout }, () => {
  fc.assert(
    fc.property(
      messages,
      fc.array(fc.tuple(place, place), { maxLength: 40, size: "max" }),
      (texts, moves) => {
        const { client, executor } = new StreamPair();
        const records = client.records(texts);
        for (const [from, by] of moves) {
          const at = Math.floor(from * records.length);
          const [moved] = records.splice(at, 1);
          records.splice(at + Math.floor(by * Math.min(4, WINDOW)), 0, moved!);
          if (by > 0.5) records.splice(at, 0, moved!);
        }
        for (const { seq, payload: record } of records) executor.stream.receive(seq, Buffer.from(record));
        expect(executor.seen).toEqual({ messages: texts, violations: 0, ends: [] });
      },
    ),
    { numRuns, seed },
  );
});

test("whatever a relay does to records, only what was sent comes out, in its order", { timeout }, () => {
  const deeds = fc.array(
    fc.tuple(fc.constantFrom("drop", "flip", "swap", "renumber", "cut", "invent"), place, place),
    { minLength: 1, maxLength: 3 },
  );
  fc.assert(
    fc.property(messages, deeds, (texts, done) => {
      const { client, executor } = new StreamPair();
      const records = client
        .records(texts)
        .map(({ seq, payload: record }) => ({ seq, payload: Buffer.from(record) }));
      for (const [deed, one, two] of done) {
        const [at, other] = [one, two].map((each) => Math.floor(each * records.length)) as [number, number];
        const record = records[at];
        if (record === undefined) break;
        if (deed === "drop") records.splice(at, 1);
        if (deed === "flip")
          record.payload[Math.floor(two * record.payload.length)]! ^= 1 + Math.floor(two * 255);
        if (deed === "swap")
          [record.payload, records[other]!.payload] = [records[other]!.payload, record.payload];
        if (deed === "renumber") record.seq = Math.floor(two * 2 ** 32);
        if (deed === "cut")
          record.payload = record.payload.subarray(0, Math.floor(two * record.payload.length));
        if (deed === "invent")
          records.splice(at, 0, { seq: at, payload: Buffer.alloc(Math.floor(two * 70_000), 1) });
      }
      for (const { seq, payload: record } of records) executor.stream.receive(seq, record);
      const { messages: seen, violations, ends } = executor.seen;
      expect(texts.slice(0, seen.length)).toEqual(seen);
      // It ends at most once, and says so.
      expect(violations).toBeLessThan(2);
      expect(ends).toEqual(violations === 0 ? [] : ["the relay stream violates the protocol"]);
    }),
    { numRuns, seed },
  );
});
