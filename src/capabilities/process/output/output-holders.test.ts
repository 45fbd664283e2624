import { closeSync, openSync, readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { runScript } from "../../../../test/fixtures/running-script.ts";
import { withoutDescriptors } from "../../../../test/fixtures/without-descriptors.ts";
import { readStat } from "../../../native/process-stat.ts";
import { openPipe } from "../../../native/spawn.ts";
import { heldLinks, WatchedOutput } from "./output-holders.ts";

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

function watchPipe(): { output: WatchedOutput; writeEnd: number; readEnd: number } {
  const { readEnd, writeEnd } = openPipe();
  onTestFinished(() => closeSync(readEnd));
  const output = new WatchedOutput({ kind: "pipe", fd: readEnd });
  onTestFinished(() => output.close());
  return { output, writeEnd, readEnd };
}

describe("a watched output", () => {
  it("is held as long as something can write to it", () => {
    const { output, writeEnd } = watchPipe();
    expect(output.held).toBe(true);
    closeSync(writeEnd);
    expect(output.held).toBe(false);
  });

  it("is held by those who can write, and not by those who only read", () => {
    const { output, writeEnd } = watchPipe();
    const self = readStat(process.pid)!;
    const links = new Set([output.link]);
    expect(new Set(heldLinks(self, links))).toEqual(links);
    closeSync(writeEnd);
    expect(heldLinks(self, links)).toEqual([]);
  });

  it("is looked at without waiting", () => {
    const { output, writeEnd } = watchPipe();
    onTestFinished(() => closeSync(writeEnd));
    const times = Array.from({ length: 50 }, () => {
      const start = performance.now();
      expect(output.held).toBe(true);
      return performance.now() - start;
    });
    // The shortest that the system can wait is a millisecond.
    expect(Math.min(...times)).toBeLessThan(1);
  });

  it("counts as held if no descriptor is free to watch it with", () => {
    const { readEnd, writeEnd } = openPipe();
    const output = withoutDescriptors(() => new WatchedOutput({ kind: "pipe", fd: readEnd }));
    closeSync(writeEnd);
    closeSync(readEnd);
    expect(output.held).toBe(true);
    expect(output.link).toMatch(/^pipe:\[\d+\]$/);
    output.close();
  });

  it("gives back what it has opened", () => {
    const before = openDescriptors();
    const { readEnd, writeEnd } = openPipe();
    const output = new WatchedOutput({ kind: "pipe", fd: readEnd });
    closeSync(writeEnd);
    closeSync(readEnd);
    expect(openDescriptors()).toBe(before + 1);
    output.close();
    expect(openDescriptors()).toBe(before);
  });

  it("is held by a process that can write to it, and not by one that can only read it", async () => {
    const { output, writeEnd, readEnd } = watchPipe();
    onTestFinished(() => closeSync(writeEnd));
    const other = openPipe();
    onTestFinished(() => closeSync(other.writeEnd));
    onTestFinished(() => closeSync(other.readEnd));
    const reader = openSync(`/proc/self/fd/${readEnd}`, "r");
    onTestFinished(() => closeSync(reader));
    const holders = [writeEnd, other.writeEnd, reader].map((stdout) =>
      runScript("exec sleep 60", { stdout }),
    );
    const links = new Set([output.link, "pipe:[1]"]);
    const held = holders.map(({ pid }) => heldLinks(readStat(pid)!, links));
    expect(held).toEqual([[output.link], [], []]);
    expect(heldLinks({ ...readStat(process.pid)!, pid: 99_999_999 }, links)).toEqual([]);
  });
});
