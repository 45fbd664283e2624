import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ObservedConnection } from "../settings/observer.ts";
import { Tallies } from "./tallies.ts";

const connection = { number: 1, principal: "user:root" } as ObservedConnection;

function recorded(): { readonly tallies: Tallies; readonly lines: object[] } {
  const lines: object[] = [];
  return { tallies: new Tallies((event, facts) => lines.push({ event, ...facts })), lines };
}

it("ids as long as a message are not kept in memory", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const { tallies, lines } = recorded();
  const idBytes = 1024 * 1024;
  const count = 200;
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  // Each is a separate string, as from a message.
  for (let index = 0; index < count; index += 1)
    tallies.add(connection, "input", ["process", Buffer.alloc(idBytes, `${index} `).toString("latin1")], 1);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan((count * idBytes) / 4);
  expect(lines).toHaveLength(count);
  tallies.close();
});

it("a long id ends like a short one", () => {
  const { tallies, lines } = recorded();
  const id = "x".repeat(100_000);
  for (const bytes of [1, 2, 3]) tallies.add(connection, "input", ["process", id], bytes);
  tallies.end(connection, ["process", id]);
  const shown = expect.stringMatching(/^x{1024}… \(100000 characters\)$/) as string;
  const who = { event: "input", connection: 1, principal: "user:root", process: shown };
  expect(lines).toEqual([
    { ...who, requests: 1, bytes: 1 },
    { ...who, requests: 2, bytes: 5 },
  ]);
});

it("what is answered after its client has left has its line, and nothing is kept for it", () => {
  const { tallies, lines } = recorded();
  tallies.add(connection, "readBlocks", ["handle", "h"], 1);
  tallies.leave(connection);
  for (const bytes of [2, 3]) tallies.add(connection, "readBlocks", ["handle", "h"], bytes);
  expect(lines).toMatchObject([{ bytes: 1 }, { bytes: 2 }, { bytes: 3 }]);
  tallies.close();
  expect(lines).toHaveLength(3);
});

describe("counts", () => {
  const INTERVAL_MS = 10_000;
  const MAX_PER_CONNECTION = 256;
  const who = { connection: 1, principal: "user:root" };
  const count = (tallies: Tallies, id: string, times = 1): void => {
    for (let each = 0; each < times; each += 1) tallies.add(connection, "input", ["process", id], 5);
  };

  it("have a line every ten seconds in which something was counted", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { tallies, lines } = recorded();
    count(tallies, "p");
    expect([lines.splice(0).length, vi.getTimerCount()]).toEqual([1, 0]);
    for (let round = 0; round < 3; round += 1) {
      count(tallies, "p", 2);
      vi.advanceTimersByTime(INTERVAL_MS - 1);
      expect(lines).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(lines.splice(0)).toEqual([{ event: "input", ...who, process: "p", requests: 2, bytes: 10 }]);
      vi.advanceTimersByTime(INTERVAL_MS);
      expect([lines.length, vi.getTimerCount()]).toEqual([0, 0]);
    }
    count(tallies, "p");
    tallies.close();
    expect([lines.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  it("of too many things get their line early, the oldest first, and begin anew", () => {
    const { tallies, lines } = recorded();
    for (let id = 0; id < MAX_PER_CONNECTION; id += 1) count(tallies, `${id}`, 3);
    expect(lines.splice(0)).toHaveLength(MAX_PER_CONNECTION);
    count(tallies, "more");
    expect(lines.splice(0)).toMatchObject([
      { process: "more", requests: 1 },
      { process: "0", requests: 2, bytes: 10 },
    ]);
    count(tallies, "0");
    expect(lines.splice(0)).toMatchObject([
      { process: "0", requests: 1 },
      { process: "1", requests: 2 },
    ]);
    tallies.close();
    expect(lines).toHaveLength(MAX_PER_CONNECTION - 2);
  });

  it("of one thing end, and those of others with its name or of its kind continue", () => {
    const { tallies, lines } = recorded();
    const things = [
      ["process", "a"],
      ["handle", "a2"],
      ["process", "b"],
    ] as const;
    for (const thing of things)
      for (let each = 0; each < 2; each += 1) tallies.add(connection, "input", thing, 0);
    lines.splice(0);
    tallies.end(connection, ["handle", "a"]);
    tallies.end({ ...connection, number: 2 }, ["process", "a"]);
    expect(lines).toEqual([]);
    tallies.end(connection, ["process", "a"]);
    expect(lines.splice(0)).toEqual([
      { event: "input", ...who, process: "a", requests: 1, bytes: undefined },
    ]);
    tallies.end(connection, ["process", "a"]);
    tallies.leave(connection);
    expect(lines).toMatchObject([
      { handle: "a2", requests: 1 },
      { process: "b", requests: 1 },
    ]);
  });

  it("of one thing by different events have a line each", () => {
    const { tallies, lines } = recorded();
    for (const event of ["input", "output", "input", "output"])
      tallies.add(connection, event, ["process", "p"], 1);
    tallies.end(connection, ["process", "p"]);
    expect(lines.map((line) => (line as { event: string }).event)).toEqual([
      "input",
      "output",
      "input",
      "output",
    ]);
  });
});
