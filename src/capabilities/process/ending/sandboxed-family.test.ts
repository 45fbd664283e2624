import { describe, expect, it, vi } from "vitest";
import { runScript, type RunningScript } from "../../../../test/fixtures/running-script.ts";
import { listChildren, readStat } from "../../../native/process-stat.ts";
import type { ProcessFamily } from "./process-family.ts";
import { sandboxedFamily } from "./sandboxed-family.ts";

/** Searches are done in steps, and other things happen between two of them. */
const between = vi.hoisted(() => ({ steps: (): void => {} }));
vi.mock(import("../slices.ts"), async (original) => {
  const slices = await original();
  return {
    ...slices,
    takeSteps: (steps, done) =>
      slices.takeSteps(steps, () => {
        between.steps();
        done();
      }),
  };
});

/** What is passed on to the family of the watchers. */
function recordWatchers(): { calls: string[]; watchers: ProcessFamily } {
  const calls: string[] = [];
  const watchers: ProcessFamily = {
    contained: true,
    gone: true,
    signal: (signal) => void calls.push(signal),
    terminate: () => void calls.push("terminate"),
    killGroup: () => void calls.push("killGroup"),
    kill: (outputs) => void calls.push(`kill ${outputs.length}`),
    members: () => [1, 2],
    usage: () => ({ cpuMs: 1, memoryBytes: 2, processes: 3, atMs: 4 }),
    leaderReaped: () => void calls.push("leaderReaped"),
  };
  return { calls, watchers };
}

/** Like bubblewrap: two processes that only watch, and a program inside that leads a group. It exits as the program. */
function runInside(program: string, wait = ""): RunningScript {
  return runScript(`sh -c '${wait} setsid ${program}; exit $?'; exit $?`);
}

async function runBegun(program: string): Promise<RunningScript> {
  const script = runInside(`sh -c "echo begun; exec ${program}"`);
  await script.readLine();
  return script;
}

describe("the family of a sandboxed process", () => {
  it("gets signals inside, and not the processes that watch", async () => {
    const { calls, watchers } = recordWatchers();
    const script = await runBegun("sleep 60");
    sandboxedFamily(script.pid, watchers).signal("SIGINT");
    expect(await script.ended).toEqual({ code: 130, signal: null });
    expect(calls).toEqual([]);
  });

  it("gets a signal once the program has begun", async () => {
    const script = runInside("sleep 60", "sleep 0.2;");
    sandboxedFamily(script.pid, recordWatchers().watchers).signal("SIGTERM");
    expect(await script.ended).toEqual({ code: 143, signal: null });
  });

  it("is asked to end as a whole, also what is stopped or has left the group of the program", async () => {
    const script = runInside(`sh -c "setsid sleep 60 & kill -STOP \\$!; echo begun; wait; exit 9"`);
    await script.readLine();
    const [first] = listChildren(script.pid);
    const [program] = listChildren(first!);
    const [member] = listChildren(program!);
    sandboxedFamily(script.pid, recordWatchers().watchers).terminate([]);
    expect(await script.ended).toEqual({ code: 143, signal: null });
    await expect.poll(() => readStat(member!)?.alive ?? false).toBe(false);
  });

  it("is not looked for once the process has been reaped, whose number may be another's", async () => {
    const { calls, watchers } = recordWatchers();
    const script = await runBegun("sleep 60");
    const reaped = sandboxedFamily(script.pid, watchers);
    reaped.leaderReaped();
    expect(calls).toEqual(["leaderReaped"]);
    reaped.signal("SIGKILL");
    reaped.terminate([]);
    // So this is the first signal that it gets.
    sandboxedFamily(script.pid, watchers).signal("SIGINT");
    expect(await script.ended).toEqual({ code: 130, signal: null });
  });

  it("is not asked to end if it is reaped while its members are searched for", async () => {
    const script = await runBegun("sleep 60");
    const family = sandboxedFamily(script.pid, recordWatchers().watchers);
    const searched = new Promise<void>((resolve) => {
      between.steps = () => {
        family.leaderReaped();
        resolve();
      };
    });
    family.terminate([]);
    await searched;
    between.steps = () => {};
    sandboxedFamily(script.pid, recordWatchers().watchers).signal("SIGINT");
    expect(await script.ended).toEqual({ code: 130, signal: null });
  });

  it("is killed, measured and missed with the processes that watch", () => {
    const { calls, watchers } = recordWatchers();
    const family = sandboxedFamily(1, watchers);
    family.killGroup();
    family.kill([{ kind: "pipe", fd: 0 }]);
    expect(calls).toEqual(["killGroup", "kill 1"]);
    expect([family.contained, family.gone]).toEqual([true, true]);
    expect(family.usage(undefined as never)).toEqual({ cpuMs: 1, memoryBytes: 2, processes: 3, atMs: 4 });
    expect([...family.members(undefined as never)]).toEqual([1, 2]);
  });
});
