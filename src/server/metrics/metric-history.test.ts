import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { MetricHistory, type Reading, readUsage } from "./metric-history.ts";

const START: Reading = {
  atMs: 1_000_000,
  clockMs: 50,
  cpuMs: 100,
  loopMs: 100,
  memoryBytes: 7_000,
  connections: 1,
  sessions: 2,
  runningProcesses: 3,
  bufferedBytes: 4,
  requests: 10,
  errors: 1,
  sentBytes: 1_000,
};

let reading: Reading;
let history: MetricHistory;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  reading = START;
  history = new MetricHistory(() => reading);
});
afterEach(() => {
  history.close();
  vi.useRealTimers();
});

/** Lets a sample be taken after 15 s, in which the totals grow by these amounts. */
function pass(grown: Partial<Reading> = {}): void {
  const entries = Object.entries({ atMs: 15_000, clockMs: 15_000, ...grown });
  for (const [name, by] of entries)
    reading = { ...reading, [name]: (reading[name as keyof Reading] ?? 0) + by! };
  vi.advanceTimersByTime(15_000);
}

it("a new server has two samples, so that there is a line to draw", () => {
  reading = { ...reading, atMs: 1_000_500, clockMs: 550, requests: 11 };
  const { atMs, requestsPerSecond, memoryBytes } = history.values;
  expect({ atMs, requestsPerSecond, memoryBytes }).toEqual({
    atMs: [1_000_000, 1_000_500],
    requestsPerSecond: [0, 2],
    memoryBytes: [7_000, 7_000],
  });
});

it("what only grows becomes a rate, and the rest stays as it is", () => {
  pass({ cpuMs: 7_500, loopMs: 1_500, requests: 30, errors: 3, sentBytes: 1_500, connections: 4 });
  expect(history.values).toEqual({
    atMs: [1_000_000, 1_015_000, 1_015_000],
    connections: [1, 5, 5],
    sessions: [2, 2, 2],
    runningProcesses: [3, 3, 3],
    bufferedBytes: [4, 4, 4],
    requestsPerSecond: [0, 2, 0],
    errorsPerSecond: [0, 0.2, 0],
    sentBytesPerSecond: [0, 100, 0],
    cpuPercent: [0, 50, 0],
    eventLoopPercent: [0, 10, 0],
    memoryBytes: [7_000, 7_000, 7_000],
  });
});

it("asking does not change what is recorded", () => {
  reading = { ...reading, clockMs: 5_050, requests: 20 };
  expect(history.values.requestsPerSecond).toEqual([0, 2]);
  expect(history.values.requestsPerSecond).toEqual([0, 2]);
  pass({ clockMs: 10_000, requests: 5 });
  expect(history.values.requestsPerSecond).toEqual([0, 1, 0]);
});

it("the last hour is kept", () => {
  for (let sample = 0; sample < 300; sample += 1) pass();
  const { atMs, ...values } = history.values;
  expect(atMs.length).toBe(241);
  expect(atMs[0]).toBe(START.atMs + 61 * 15_000);
  for (const list of Object.values(values)) expect(list.length).toBe(241);
});

it("memory that cannot be read stays the last known", () => {
  reading = { ...reading, memoryBytes: undefined };
  pass();
  pass();
  expect(history.values.memoryBytes).toEqual([7_000, 7_000, 7_000, 7_000]);
});

it("nothing is recorded after the end", () => {
  history.close();
  pass();
  expect(history.values.atMs.length).toBe(2);
});

it("this program's own usage can be read", () => {
  const { cpuMs, loopMs, memoryBytes } = readUsage();
  expect(cpuMs).toBeGreaterThan(0);
  expect(loopMs).toBeGreaterThanOrEqual(0);
  expect(memoryBytes).toBeGreaterThan(1_000_000);
});
