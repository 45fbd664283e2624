import { expect, test } from "vitest";
import { type Beat, isNewer } from "./beat.ts";
import { decodeBeat, encodeBeat } from "./beat-message.ts";

const BEAT: Beat = {
  id: "a",
  run: "r",
  since: 5,
  labels: { zone: "x" },
  running: 0,
  free: 0,
  load: 0,
  state: "ready",
};
const LONG = "x".repeat(256);

test.each([
  ["nothing to say", {}],
  ["the last moment there is", { since: 8.64e15 }],
  ["the longest texts", { run: LONG, version: LONG, labels: { [LONG]: LONG } }],
  [
    "as many labels as there may be",
    { labels: Object.fromEntries(Array.from({ length: 64 }, (_, at) => [at, ""])) },
  ],
  ["load", { load: 0.5, running: 3, free: 7, state: "draining" as const }],
  ["no labels", { labels: {} }],
])("a beat with %s is read as it was written", (_, more) => {
  expect(decodeBeat(encodeBeat({ ...BEAT, ...more }))).toEqual({ ...BEAT, ...more });
});

test.each([
  ["no name", { id: undefined }],
  ["no run", { run: undefined }],
  ["a run that is too long", { run: `${LONG}x` }],
  ["a version that is too long", { version: `${LONG}x` }],
  ["a version that is no text", { version: 1 }],
  ["a label that is too long", { labels: { a: `${LONG}x` } }],
  ["a name of a label that is too long", { labels: { [`${LONG}x`]: "a" } }],
  ["no labels at all", { labels: undefined }],
  ["labels that are null", { labels: null }],
  ["labels that are a text", { labels: "zone=x" }],
  ["a time before all times", { since: -1 }],
  ["fewer than no processes", { running: -1 }],
  ["fewer than no slots", { free: -1 }],
  ["a load below nothing", { load: -0.1 }],
  ["a load that is a text", { load: "0" }],
  ["no state", { state: undefined }],
])("a beat with %s is ignored", (_, more) => {
  expect(decodeBeat(encodeBeat({ ...BEAT, ...more } as unknown as Beat))).toBeUndefined();
});

test("a beat is read up to 16 KiB", () => {
  const text = encodeBeat(BEAT).toString();
  expect(decodeBeat(Buffer.from(text.padEnd(16 * 1024, " ")))).toEqual(BEAT);
  expect(decodeBeat(Buffer.from(text.padEnd(16 * 1024 + 1, " ")))).toBeUndefined();
});

test("unknown members are left out", () => {
  expect(decodeBeat(encodeBeat({ ...BEAT, more: 1 } as Beat))).toEqual(BEAT);
});

test.each([
  [{ since: 2, run: "a" }, { since: 1, run: "b" }, true],
  [{ since: 1, run: "b" }, { since: 2, run: "a" }, false],
  [{ since: 1, run: "b" }, { since: 1, run: "a" }, true],
  [{ since: 1, run: "a" }, { since: 1, run: "b" }, false],
  [{ since: 1, run: "a" }, { since: 1, run: "a" }, false],
])("%j replaces %j: %s", (one, other, expected) => {
  expect(isNewer(one, other)).toBe(expected);
});
