import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import { type Frame, FrameReader, writeFrame } from "./frames.ts";

function encoded(...frames: Parameters<typeof writeFrame>[]): Buffer {
  const output = new PassThrough();
  for (const [, kind, content] of frames) writeFrame(output, kind, content);
  const chunks: Buffer[] = [];
  // From Node 26 on, `read` gives one chunk at a time.
  for (let chunk = output.read() as Buffer | null; chunk !== null; chunk = output.read() as Buffer | null)
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

const frame = (...[kind, content]: [Parameters<typeof writeFrame>[1], Parameters<typeof writeFrame>[2]?]) =>
  [new PassThrough(), kind, content] as Parameters<typeof writeFrame>;

function seen({ kind, id, text, bytes }: Frame): unknown[] {
  return [kind, id, text, Buffer.concat(bytes).toString()];
}

const SAMPLES = encoded(
  frame("ready", { text: '{"a":"ä€😀"}' }),
  frame("request", {
    id: 0xffff_ffff,
    text: "{}",
    bytes: [Buffer.from("one"), Buffer.alloc(0), Buffer.from("two")],
  }),
  frame("ping"),
  frame("result", { id: 7, bytes: [Buffer.alloc(70_000, "x")] }),
  frame("notification", { text: "last" }),
);
const EXPECTED = [
  ["ready", 0, '{"a":"ä€😀"}', ""],
  ["request", 0xffff_ffff, "{}", "onetwo"],
  ["ping", 0, "", ""],
  ["result", 7, "", "x".repeat(70_000)],
  ["notification", 0, "last", ""],
];

it.each([1, 7, 16, 17, 1000, 1_000_000])("frames arrive whole, in pieces of %i bytes", (size) => {
  const frames: unknown[] = [];
  const reader = new FrameReader({ frame: (taken) => void frames.push(seen(taken)) });
  for (let at = 0; at < SAMPLES.length; at += size) void reader.read(SAMPLES.subarray(at, at + size));
  expect(frames).toEqual(EXPECTED);
});

it("a frame that is a header alone comes once it is admitted, without another chunk", async () => {
  const frames: unknown[] = [];
  const reader = new FrameReader({
    frame: (each) => void frames.push(seen(each)),
    admit: () => Promise.resolve(),
  });
  await reader.read(encoded(frame("ping", { id: 5 })));
  expect(frames).toEqual([["ping", 5, "", ""]]);
});

it("a frame waits until it is admitted", async () => {
  const admitted = createDeferred<void>();
  const asked: unknown[][] = [];
  const frames: unknown[] = [];
  const reader = new FrameReader({
    frame: (taken) => void frames.push(seen(taken)),
    admit: ({ kind, id, length }) => {
      asked.push([kind, id, length]);
      return id === 7 ? admitted.promise : undefined;
    },
  });
  const waiting = reader.read(SAMPLES);
  expect(asked).toEqual([
    ["ready", 0, 17],
    ["request", 0xffff_ffff, 8],
    ["ping", 0, 0],
    ["result", 7, 70_000],
  ]);
  expect(frames).toEqual(EXPECTED.slice(0, 3));
  admitted.resolve();
  await waiting;
  expect(frames).toEqual(EXPECTED);
});

it("what follows a frame waits until its receiver is ready", async () => {
  const ready = createDeferred<void>();
  const frames: unknown[] = [];
  const reader = new FrameReader({
    frame: (taken) => {
      frames.push(seen(taken));
      return taken.kind === "ready" ? ready.promise : undefined;
    },
  });
  const waiting = reader.read(SAMPLES);
  expect(frames).toEqual(EXPECTED.slice(0, 1));
  ready.resolve();
  await waiting;
  expect(frames).toEqual(EXPECTED);
});

it.each([4, 8, 12])("refuses a header that makes no sense at byte %i", (at) => {
  const reader = new FrameReader({ frame: () => undefined });
  const header = Buffer.alloc(16);
  header.writeUInt32LE(0xeeee_eeee, at);
  expect(() => reader.read(header)).toThrow("not a frame");
});
