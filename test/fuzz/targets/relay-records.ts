import { MAX_RECORD_BYTES, MessageJoiner, RecordCutter, RecordOrder } from "../../../src/relay/records.ts";
import { Choices } from "../choices.ts";
import { expectEqual, type Target } from "../target.ts";

const MAX_MESSAGE_BYTES = 200_000;
const MAX_AHEAD = 64;
const MAX_AHEAD_BYTES = 1024 * 1024;
const LENGTHS = [
  1,
  2,
  5,
  100,
  MAX_RECORD_BYTES - 5,
  MAX_RECORD_BYTES - 4,
  MAX_RECORD_BYTES - 3,
  MAX_MESSAGE_BYTES,
  MAX_MESSAGE_BYTES + 1,
];

/** What comes of records that arrive in some order. */
function received(records: readonly (readonly [number, Buffer])[]): string[] {
  const [order, joiner] = [new RecordOrder(), new MessageJoiner(MAX_MESSAGE_BYTES)];
  const heard: string[] = [];
  try {
    for (const [seq, record] of records)
      for (const due of order.take(seq, record))
        for (const message of joiner.take(due)) heard.push(message.toString("latin1"));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    heard.push(error.message);
  }
  return heard;
}

function expected(records: readonly (readonly [number, Buffer])[]): string[] {
  const early = new Map<number, Buffer>();
  const heard: string[] = [];
  let [bytes, next] = ["", 0];
  for (const [seq, record] of records) {
    if (seq < next || early.has(seq)) continue;
    const waiting = [...early.values()].reduce((sum, { length }) => sum + length, 0);
    if (seq - next > MAX_AHEAD || waiting + record.length > MAX_AHEAD_BYTES)
      return [...heard, "a record is too far ahead"];
    early.set(seq, record);
    for (let due = early.get(next); due !== undefined; due = early.get(next)) {
      early.delete(next);
      next += 1;
      bytes += due.toString("latin1");
      while (bytes.length >= 4) {
        const length = Buffer.from(bytes.slice(0, 4), "latin1").readUInt32BE();
        if (length === 0) return [...heard, "a message is empty"];
        if (length > MAX_MESSAGE_BYTES)
          return [...heard, `a message is longer than ${MAX_MESSAGE_BYTES} bytes`];
        if (bytes.length < 4 + length) break;
        heard.push(bytes.slice(4, 4 + length));
        bytes = bytes.slice(4 + length);
      }
    }
  }
  return heard;
}

/** Messages become records, which a relay reorders, repeats, drops and replaces. */
export const target: Target = {
  seeds: [
    Buffer.from([2, 1, 2, 3, 0, 0]),
    Buffer.from([3, 5, 7, 4, 2, 2, 0, 1, 1, 0]),
    Buffer.from([6, 3, 3, 3, 8, 3, 3, 3, 2, 4, 1, 2, 0]),
  ],
  maxBytes: 300,
  run(input) {
    const choices = new Choices(input);
    const cutter = new RecordCutter();
    const messages = Array.from({ length: 1 + choices.below(8) }, (_, at) =>
      Buffer.alloc(choices.pick(LENGTHS), 0x61 + at),
    );
    for (const message of messages) cutter.add([message.subarray(0, 3), message.subarray(3)]);
    const records: [number, Buffer][] = [];
    for (let next = cutter.next(); next !== undefined; next = cutter.next())
      records.push([records.length, Buffer.concat(next.record)]);
    const honest = messages
      .filter(({ length }) => length <= MAX_MESSAGE_BYTES)
      .map((message) => message.toString("latin1"));
    if (honest.length === messages.length) expectEqual(received(records), honest, "the messages");
    for (let deeds = choices.below(6); deeds > 0; deeds -= 1) {
      const [at, to] = [choices.below(records.length + 1), choices.below(records.length + 1)];
      const record = records[at];
      if (record === undefined) continue;
      const deed = choices.below(5);
      if (deed < 2) records.splice(at, 1);
      if (deed === 0 || deed === 2) records.splice(to, 0, record);
      if (deed === 3) records[at] = [choices.pick([0, to, to + MAX_AHEAD, 2 ** 32 - 1]), record[1]];
      if (deed === 4) records.splice(to, 0, [to, choices.bytes(1 + choices.below(12))]);
    }
    expectEqual(received(records), expected(records), "what is heard");
  },
};
