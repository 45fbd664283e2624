import { expect, test } from "vitest";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { OutputLog, type ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import { MAX_RETAINED_BYTES, MAX_RETAINED_CHUNKS } from "../../protocol/wire-limits.ts";
import { EventPump } from "./event-pump.ts";
import type { Peer } from "../connection/peer.ts";

/** A process that writes for as long as it is not paused. */
class Writer {
  readonly log = new OutputLog({ maxBytes: MAX_RETAINED_BYTES, maxChunks: MAX_RETAINED_CHUNKS });
  paused = false;
  #listener: (event: ProcessEvent) => void = () => {};

  readonly process = {
    state: { nextSeq: 1 },
    listen: (listener: (event: ProcessEvent) => void) => {
      this.#listener = listener;
      return () => {
        this.#listener = () => {};
      };
    },
    event: (seq: number) => this.log.event(seq),
    pauseOutput: () => {
      this.paused = true;
    },
    resumeOutput: () => {
      this.paused = false;
    },
  } as Partial<ManagedProcess> as ManagedProcess;

  write(bytes: Uint8Array): void {
    this.#listener({ kind: "output", seq: this.log.appendOutput("stdout", bytes), stream: "stdout", bytes });
  }
}

function createPump(): { pump: EventPump; sent: number[] } {
  const sent: number[] = [];
  const peer: Partial<Peer> = { queuedBytes: 0, eventSender: () => (event) => sent.push(event.seq) };
  return { pump: new EventPump(peer as Peer), sent };
}

test.each([1, 1000, 65_536])("a held process that writes %d bytes at a time loses nothing", (size) => {
  const { pump, sent } = createPump();
  const writer = new Writer();
  pump.follow("p", writer.process);
  expect(pump.hold("p")).toBe(true);
  let written = 0;
  for (; !writer.paused && written < 1_000_000; written += 1) writer.write(new Uint8Array(size));
  expect(writer.paused).toBe(true);
  expect(sent).toEqual([]);
  expect(pump.release("p")).toBe(true);
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
    pump.hold("p");
    pump.hold("p");
    writer.write(new Uint8Array(1));
    pump.release("p");
    pump.release("p");
    writer.write(new Uint8Array(1));
  }
  expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("what is not followed cannot be held", () => {
  const { pump } = createPump();
  expect([pump.hold("p"), pump.release("p")]).toEqual([false, false]);
});

test.each(["stop", "unfollow"] as const)(
  "a process that waits for its connection goes on after %s",
  (how) => {
    const { pump, sent } = createPump();
    const writer = new Writer();
    pump.follow("p", writer.process);
    pump.hold("p");
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
