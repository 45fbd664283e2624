import { afterEach, describe, expect, it, vi } from "vitest";
import { type RunningScript, runScript } from "../../../../test/fixtures/running-script.ts";
import { type ProcessGroup, ProcessGroups } from "./process-groups.ts";

const CHECK_MS = 2_000;

afterEach(() => void vi.useRealTimers());

/** A group of one process, and how often its record was released. */
function track(groups: ProcessGroups): {
  script: RunningScript;
  group: ProcessGroup;
  releases: () => number;
} {
  const script = runScript("exec sleep 60");
  let releases = 0;
  const release = (): void => {
    releases += 1;
  };
  const group = groups.track(script.pid, { starting: () => {}, started: () => {}, release });
  return { script, group, releases: () => releases };
}

describe("ProcessGroups", () => {
  it("signals a whole group", async () => {
    const { script, group } = track(new ProcessGroups());
    group.signal("SIGTERM");
    expect(await script.ended).toEqual({ code: null, signal: "SIGTERM" });
  });

  it("gives up an empty group once its leader has been reaped, and not earlier", async () => {
    const groups = new ProcessGroups();
    const { script, group, releases } = track(groups);
    group.signal("SIGKILL");
    await script.ended;
    // The number may be the leader's still, as far as is known here.
    group.signal("SIGTERM");
    expect([groups.has(script.pid), group.gone, releases()]).toEqual([true, false, 0]);
    group.leaderReaped();
    expect([groups.has(script.pid), group.gone, releases()]).toEqual([false, true, 1]);
    group.signal("SIGTERM");
    expect(releases()).toBe(1);
  });

  it("keeps a group that outlives its leader until a check finds it empty", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const groups = new ProcessGroups();
    // Twice: the checks end with the last such group, and begin again with the next.
    for (let time = 0; time < 2; time += 1) {
      const [first, last] = [track(groups), track(groups)];
      for (const { group } of [first, last]) group.leaderReaped();
      vi.advanceTimersByTime(CHECK_MS);
      expect([first.group.gone, last.group.gone]).toEqual([false, false]);
      first.group.signal("SIGKILL");
      await first.script.ended;
      vi.advanceTimersByTime(CHECK_MS);
      expect([first.group.gone, last.group.gone]).toEqual([true, false]);
      expect([first.releases(), last.releases()]).toEqual([1, 0]);
      last.group.signal("SIGKILL");
      await last.script.ended;
      vi.advanceTimersByTime(CHECK_MS);
      expect([last.group.gone, groups.has(last.script.pid), last.releases()]).toEqual([true, false, 1]);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it.runIf(process.geteuid?.() === 0)("keeps a group whose members have changed their user", async () => {
    const groups = new ProcessGroups();
    const { script, group, releases } = track(groups);
    // Nothing that this user may signal.
    process.seteuid!(65_534);
    try {
      group.leaderReaped();
    } finally {
      process.seteuid!(0);
    }
    expect([group.gone, groups.has(script.pid), releases()]).toEqual([false, true, 0]);
    groups.killAll();
    await script.ended;
  });

  it("kills everything that is left, also without the leaders", async () => {
    const groups = new ProcessGroups();
    const [one, other] = [track(groups), track(groups)];
    other.group.leaderReaped();
    groups.killAll();
    expect(await one.script.ended).toEqual({ code: null, signal: "SIGKILL" });
    expect(await other.script.ended).toEqual({ code: null, signal: "SIGKILL" });
  });
});
