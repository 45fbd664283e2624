import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Logger } from "../../../base/logger.ts";
import type { Reaper } from "../../../native/reaper.ts";
import { Warden } from "./warden.ts";
import { WARDEN_SCRIPT } from "./warden-script.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A warden whose shells are not started. */
class Scene {
  readonly starts: { script: string; stdin: number; table: number; atMs: number }[] = [];
  readonly logged: string[] = [];
  /** Reports to the warden that a shell has ended. */
  readonly ends: (() => void)[] = [];
  canStart = true;
  readonly warden: Warden;
  readonly #begunMs = performance.now();

  constructor() {
    const logger: Partial<Logger> = {
      warn: (message) => void this.logged.push(`warn: ${message}`),
      error: (message, fields) => void this.logged.push(`error: ${message}: ${String(fields?.["error"])}`),
    };
    const reaper: Partial<Reaper> = {
      watchInBackground: (_pid, onExit) => void this.ends.push(onExit as () => void),
    };
    this.warden = new Warden({
      start: (script, stdin, table) => {
        this.starts.push({ script, stdin, table, atMs: performance.now() - this.#begunMs });
        if (!this.canStart) throw new Error("no shell");
        return 1000 + this.starts.length;
      },
      reaper: reaper as Reaper,
      logger: logger as Logger,
    });
  }

  /** What a shell would read. */
  get lines(): string[] {
    return readFileSync(`/proc/self/fd/${this.starts[0]!.table}`, "latin1")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("-"));
  }
}

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

describe("the warden", () => {
  it("is started with the first process, and once for all", () => {
    const scene = new Scene();
    expect(scene.starts).toEqual([]);
    scene.warden.reserve();
    scene.warden.reserve();
    scene.warden.guardControlGroup("/group");
    expect(scene.starts.map(({ script }) => script)).toEqual([WARDEN_SCRIPT]);
    expect(scene.logged).toEqual([]);
  });

  it("reads which processes to kill, from before their start until they are gone", () => {
    const scene = new Scene();
    const { warden } = scene;
    const [one, other] = [warden.reserve(), warden.reserve()];
    expect(scene.lines).toEqual([]);
    one.starting("pipe:[17]");
    expect(scene.lines).toEqual(["? pipe:[17]"]);
    one.started(101, "pipes");
    other.starting("/dev/pts/3 1234567890");
    other.started(102, "terminal");
    warden.guardControlGroup("/sys/fs/cgroup/a directory with a long name");
    expect(scene.lines).toEqual(["p 101", "t 102", "c /sys/fs/cgroup/a directory with a long name"]);
    one.release();
    expect(scene.lines).toEqual(["t 102", "c /sys/fs/cgroup/a directory with a long name"]);
  });

  it("is reported if it cannot be started, and retried with growing pauses", () => {
    const scene = new Scene();
    scene.canStart = false;
    const before = openDescriptors();
    scene.warden.reserve().started(101, "pipes");
    const complaint = "error: no warden: processes may outlive a killed server: Error: no shell";
    expect(scene.logged).toEqual([complaint]);
    vi.advanceTimersByTime(60_000);
    const times = scene.starts.map(({ atMs }) => atMs);
    expect(times).toEqual([0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 22_700, 32_700, 42_700, 52_700]);
    expect(scene.logged).toEqual(times.map(() => complaint));
    // The table.
    expect(openDescriptors()).toBe(before + 1);
    scene.canStart = true;
    vi.advanceTimersByTime(60_000);
    expect(scene.starts).toHaveLength(times.length + 1);
    expect(scene.lines).toEqual(["p 101"]);
  });

  it("is replaced when it ends, at first soon", () => {
    const scene = new Scene();
    scene.warden.reserve();
    const open = openDescriptors();
    for (const waitMs of [100, 200]) {
      const { length } = scene.starts;
      scene.ends.at(-1)!();
      expect(openDescriptors()).toBe(open - 1);
      vi.advanceTimersByTime(waitMs - 1);
      expect(scene.starts).toHaveLength(length);
      vi.advanceTimersByTime(1);
      expect(scene.starts).toHaveLength(length + 1);
      expect(openDescriptors()).toBe(open);
    }
    expect(scene.logged).toEqual(Array(2).fill("warn: the warden ended and is being replaced"));
    // One that has lived for long has not failed.
    vi.advanceTimersByTime(60_001);
    scene.ends.at(-1)!();
    vi.advanceTimersByTime(100);
    expect(scene.starts).toHaveLength(4);
  });
});
