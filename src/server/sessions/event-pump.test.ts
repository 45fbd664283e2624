import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { type Exit, OutputLog, type ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import { MAX_RETAINED_BYTES, MAX_RETAINED_CHUNKS } from "../../protocol/wire-limits.ts";
import { EventPump } from "./event-pump.ts";
import type { Peer } from "../wire/peer.ts";

/** What a connection takes before it is full. */
const HIGH_WATER_BYTES = 1024 * 1024;
const EXIT: Exit = {
  exitCode: 0,
  report: { cpuTimeMs: { user: 0, system: 0 } },
  sandboxDenied: false,
};

/** A process that writes for as long as it is not paused. */
class Writer {
  readonly log: OutputLog;
  paused = false;
  #listener: (event: ProcessEvent) => void = () => {};
  #closed = false;
  readonly process: ManagedProcess;

  constructor(maxBytes = MAX_RETAINED_BYTES) {
    const log = new OutputLog({ maxRetainedBytes: maxBytes, maxRetainedChunks: MAX_RETAINED_CHUNKS });
    this.log = log;
    const isClosed = (): boolean => this.#closed;
    const process = {
      get state() {
        return { nextSeq: log.nextSeq, closed: isClosed() };
      },
      get firstSeq() {
        return log.firstSeq;
      },
      listen: (listener: (event: ProcessEvent) => void) => {
        this.#listener = listener;
        return () => {
          this.#listener = () => {};
        };
      },
      event: (seq: number) => log.event(seq),
      pauseOutput: () => {
        this.paused = true;
      },
      resumeOutput: () => {
        this.paused = false;
      },
    };
    this.process = process as unknown as ManagedProcess;
  }

  write(bytes: Uint8Array): void {
    this.#listener({ kind: "output", seq: this.log.appendOutput("stdout", bytes), stream: "stdout", bytes });
  }

  end(): void {
    this.#listener({ kind: "exited", seq: this.log.appendExited(EXIT), ...EXIT });
    this.#closed = true;
    this.#listener({ kind: "closed", seq: this.log.appendClosed() });
  }
}

function createPump() {
  const sent: number[] = [];
  const [all, gaps, settled]: [string[], unknown[], string[]] = [[], [], []];
  const peer = {
    queuedBytes: 0,
    eventSender: (processId: string) => (event: ProcessEvent) => {
      sent.push(event.seq);
      all.push(`${processId}${event.seq}`);
    },
    notify: (method: string, params: unknown) => void gaps.push([method, params]),
  };
  const pump = new EventPump(peer as Partial<Peer> as Peer, (processId) => settled.push(processId));
  return { pump, peer, sent, all, gaps, settled };
}

const seqs = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

test.each([1, 1000, 65_536])("a held process that writes %d bytes at a time loses nothing", (size) => {
  const { pump, sent } = createPump();
  const writer = new Writer();
  pump.follow("p", writer.process);
  expect(pump.setFlow("p", { paused: true })).toBe(true);
  let written = 0;
  for (; !writer.paused && written < 1_000_000; written += 1) writer.write(new Uint8Array(size));
  expect(writer.paused).toBe(true);
  expect(sent).toEqual([]);
  expect(pump.setFlow("p", { paused: false })).toBe(true);
  expect(sent).toEqual(Array.from({ length: written }, (_, index) => index + 1));
  expect(writer.paused).toBe(false);
  writer.write(new Uint8Array(1));
  expect(sent.at(-1)).toBe(written + 1);
});

test("a hold that is taken and released again and again keeps the order", () => {
  const { pump, sent } = createPump();
  const writer = new Writer();
  pump.follow("p", writer.process);
  for (let round = 0; round < 5; round += 1) {
    pump.setFlow("p", { paused: true });
    pump.setFlow("p", { paused: true });
    writer.write(new Uint8Array(1));
    pump.setFlow("p", { paused: false });
    pump.setFlow("p", { paused: false });
    writer.write(new Uint8Array(1));
  }
  expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("what is not followed cannot be held", () => {
  const { pump } = createPump();
  expect([pump.setFlow("p", { paused: true }), pump.setFlow("p", { paused: false })]).toEqual([false, false]);
});

test.each(["stop", "unfollow"] as const)(
  "a process that waits for its connection goes on after %s",
  (how) => {
    const { pump, sent } = createPump();
    const writer = new Writer();
    pump.follow("p", writer.process);
    pump.setFlow("p", { paused: true });
    for (let written = 0; !writer.paused && written < 1000; written += 1)
      writer.write(new Uint8Array(65_536));
    expect(writer.paused).toBe(true);
    if (how === "stop") pump.stop();
    else pump.unfollow("p");
    expect(writer.paused).toBe(false);
    // Nothing more of it is sent, and nothing makes it wait.
    for (let written = 0; written < 100; written += 1) writer.write(new Uint8Array(65_536));
    pump.drain();
    expect([writer.paused, sent]).toEqual([false, []]);
  },
);

test("while a connection is full, output waits, and an end passes what others wrote but not its own output", () => {
  const { pump, peer, all, settled } = createPump();
  const [a, b] = [new Writer(), new Writer()];
  pump.follow("a", a.process);
  pump.follow("b", b.process);
  peer.queuedBytes = HIGH_WATER_BYTES - 1;
  a.write(new Uint8Array(1));
  peer.queuedBytes = HIGH_WATER_BYTES;
  a.write(new Uint8Array(1));
  a.end();
  b.end();
  pump.drain();
  expect([all, settled]).toEqual([["a1", "b1", "b2"], ["b"]]);
  peer.queuedBytes = 0;
  pump.drain();
  expect([all.slice(3), settled]).toEqual([
    ["a2", "a3", "a4"],
    ["b", "a"],
  ]);
  expect([pump.isFollowed("a"), pump.isFollowed("b")]).toEqual([false, false]);
});

test("processes take turns when there is room again", () => {
  const { pump, peer, all } = createPump();
  const writers = { a: new Writer(), b: new Writer() };
  for (const [id, { process }] of Object.entries(writers)) pump.follow(id, process);
  peer.queuedBytes = HIGH_WATER_BYTES;
  for (const writer of Object.values(writers))
    for (let count = 0; count < 3; count += 1) writer.write(new Uint8Array(1));
  peer.queuedBytes = 0;
  pump.drain();
  expect(all).toEqual(["a1", "b1", "a2", "b2", "a3", "b3"]);
  writers.a.write(new Uint8Array(1));
  expect(all.at(-1)).toBe("a4");
});

test("what waits for a connection is not sent after unfollow", () => {
  const { pump, peer, sent } = createPump();
  const writer = new Writer();
  pump.follow("p", writer.process);
  peer.queuedBytes = HIGH_WATER_BYTES;
  writer.write(new Uint8Array(1));
  pump.unfollow("p");
  peer.queuedBytes = 0;
  pump.drain();
  expect([sent, pump.isFollowed("p")]).toEqual([[], false]);
});

test("an end that waits counts as sent once nobody wants it", () => {
  const { pump, peer, settled } = createPump();
  const [ended, running] = [new Writer(), new Writer()];
  pump.follow("ended", ended.process);
  pump.follow("running", running.process);
  peer.queuedBytes = HIGH_WATER_BYTES;
  ended.write(new Uint8Array(1));
  ended.end();
  expect(settled).toEqual([]);
  for (const id of ["ended", "running", "unknown"]) pump.unfollow(id);
  expect(settled).toEqual(["ended"]);
});

test("earlier events are sent after the answer to the request for them, and later ones after these", async () => {
  const { pump, sent } = createPump();
  const writer = new Writer();
  for (let count = 0; count < 5; count += 1) writer.write(new Uint8Array(1));
  pump.follow("p", writer.process, { fromSeq: 3 });
  writer.write(new Uint8Array(1));
  expect(sent).toEqual([]);
  await turn();
  expect(sent).toEqual(seqs(3, 6));
  writer.write(new Uint8Array(1));
  expect(sent.at(-1)).toBe(7);
});

test.each([
  [undefined, []],
  [-5, seqs(1, 3)],
  [4, []],
  [99, []],
])("of three earlier events, from %j on are sent: %j", async (fromSeq, expected) => {
  const { pump, sent } = createPump();
  const writer = new Writer();
  for (let count = 0; count < 3; count += 1) writer.write(new Uint8Array(1));
  pump.follow("p", writer.process, fromSeq === undefined ? {} : { fromSeq });
  await turn();
  expect(sent).toEqual(expected);
  writer.write(new Uint8Array(1));
  expect(sent).toEqual([...expected, 4]);
});

test.each([
  ["waits", false],
  ["never waits", true],
])(
  "a process that has written much before it is followed %s for its connection; loosely: %j",
  async (_, loose) => {
    const { pump, sent } = createPump();
    const events = 8;
    // An event costs a little besides its bytes.
    const size = (256 * 1024) / events - 32;
    const [little, much] = [new Writer(), new Writer()];
    for (let count = 0; count < events - 1; count += 1) little.write(new Uint8Array(size));
    for (let count = 0; count < events; count += 1) much.write(new Uint8Array(size));
    pump.follow("little", little.process, { fromSeq: 1, loose });
    pump.follow("much", much.process, { fromSeq: 1, loose });
    expect([little.paused, much.paused]).toEqual([false, !loose]);
    little.write(new Uint8Array(size));
    expect(little.paused).toBe(!loose);
    await turn();
    expect([little.paused, much.paused, sent.length]).toEqual([false, false, 2 * events]);
  },
);

test("only output that is still to be sent makes a process wait", async () => {
  const { pump, sent } = createPump();
  const size = 64 * 1024;
  const [late, evicted] = [new Writer(), new Writer(5 * size)];
  for (const writer of [late, evicted])
    for (let count = 0; count < 10; count += 1) writer.write(new Uint8Array(size));
  pump.follow("late", late.process, { fromSeq: 10 });
  pump.follow("evicted", evicted.process, { fromSeq: 1 });
  expect([late.paused, evicted.paused]).toEqual([false, true]);
  await turn();
  expect([evicted.paused, sent.toSorted((one, other) => one - other)]).toEqual([false, [6, 7, 8, 9, 10, 10]]);
});

test("a process waits from exactly so much unsent output on", () => {
  const { pump, peer } = createPump();
  const [below, at] = [new Writer(), new Writer()];
  pump.follow("below", below.process);
  pump.follow("at", at.process);
  peer.queuedBytes = HIGH_WATER_BYTES;
  // An event costs a little besides its bytes.
  below.write(new Uint8Array(256 * 1024 - 33));
  at.write(new Uint8Array(256 * 1024 - 32));
  expect([below.paused, at.paused]).toEqual([false, true]);
});

test("a process is not paused for output that was sent meanwhile", () => {
  const { pump, peer } = createPump();
  const writer = new Writer();
  pump.follow("p", writer.process);
  for (let round = 0; round < 3; round += 1) {
    peer.queuedBytes = HIGH_WATER_BYTES;
    writer.write(new Uint8Array(200 * 1024));
    expect(writer.paused).toBe(false);
    peer.queuedBytes = 0;
    pump.drain();
  }
});

test("events that the log has given up are reported as a gap, and the rest follows", async () => {
  const { pump, sent, gaps } = createPump();
  const writer = new Writer(3);
  for (let count = 0; count < 10; count += 1) writer.write(new Uint8Array(1));
  pump.follow("p", writer.process, { fromSeq: 2, loose: true });
  await turn();
  expect(gaps).toEqual([["process/gap", { processId: "p", fromSeq: 2, toSeq: 7 }]]);
  expect(sent).toEqual([8, 9, 10]);
});

test("events can be sent in another way", () => {
  const { pump, sent } = createPump();
  const writer = new Writer();
  const own: number[] = [];
  pump.follow("p", writer.process, { send: ({ seq }) => own.push(seq) });
  writer.write(new Uint8Array(1));
  expect([own, sent]).toEqual([[1], []]);
});

test("a process that is followed anew keeps its place when the end of the first one is sent", () => {
  const { pump, peer, settled } = createPump();
  const [first, second] = [new Writer(), new Writer()];
  pump.follow("p", first.process);
  peer.queuedBytes = HIGH_WATER_BYTES;
  first.write(new Uint8Array(1));
  first.end();
  pump.follow("p", second.process);
  peer.queuedBytes = 0;
  pump.drain();
  expect([pump.isFollowed("p"), settled]).toEqual([true, []]);
});
