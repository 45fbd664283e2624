import { closeSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type RunningScript, runScript } from "../../../../test/fixtures/running-script.ts";
import { libc } from "../../../native/libc.ts";
import { readStat } from "../../../native/process-stat.ts";
import { makeNonBlocking, openPipe } from "../../../native/spawn.ts";
import { readSnapshot } from "../process-snapshot.ts";
import { type ProcessGroup, ProcessGroups } from "./process-groups.ts";
import { Sweeper } from "./sweeper.ts";
import { TracedFamily } from "./traced-family.ts";
import { killIfThere } from "../../../../test/fixtures/kill-if-there.ts";

const RECORD = { starting: () => {}, started: () => {}, release: () => {} };

function trace(pid: number, group: ProcessGroup = new ProcessGroups().track(pid, RECORD)) {
  const sweeper = new Sweeper(() => false);
  return { family: new TracedFamily(pid, { group, sweeper }), group, sweeper };
}

/** A family whose signals and sweeps are only recorded. */
function observe(pid: number): { family: TracedFamily; steps: readonly string[] } {
  const steps: string[] = [];
  const group: ProcessGroup = {
    gone: false,
    signal: (signal) => void steps.push(signal),
    leaderReaped: () => {},
  };
  const { family, sweeper } = trace(pid, group);
  vi.spyOn(sweeper, "sweep").mockImplementation(() => void steps.push("sweep"));
  return { family, steps };
}

/** A leader, and a process in another session that it started; the leader's exit code says what ended it. */
async function runWithDaughter(daughter = "exec sleep 60"): Promise<RunningScript & { daughter: number }> {
  const script = runScript(`setsid sh -c '${daughter}' & trap '' TERM; echo $!; wait $!; exit $?`);
  const pid = Number(await script.readLine());
  await expect.poll(() => readStat(pid)?.session).toBe(pid);
  onTestFinished(() => {
    if (readStat(pid)?.alive === true) killIfThere(pid);
  });
  return { ...script, daughter: pid };
}

it("is not contained: what has left it may live on", () => {
  expect(observe(1).family.contained).toBe(false);
});

const isAlive = (pid: number): boolean => readStat(pid)?.alive ?? false;

/** Whether it is stopped, or about to be. */
function isBeingStopped(pid: number): boolean {
  try {
    // Its state is read before its signals, and it may stop in between.
    return [1, 2].some(() => {
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      const pending = BigInt(`0x${/^ShdPnd:\s*(\w+)$/m.exec(status)![1]}`);
      return /^State:\s*T/m.test(status) || (pending & (1n << BigInt(constants.signals.SIGSTOP - 1))) !== 0n;
    });
  } catch {
    return false;
  }
}

describe("a traced family", () => {
  it("is asked to end with what has left its group, also what is stopped", async () => {
    const { pid, ended, daughter } = await runWithDaughter();
    process.kill(daughter, "SIGSTOP");
    const { family, sweeper } = trace(pid);
    family.terminate([]);
    expect(await ended).toEqual({ code: 143, signal: null });
    await sweeper.idle();
    family.leaderReaped();
  });

  it("stops its group while it looks for what has left it, so that nothing is born unseen", async () => {
    const { pid } = await runWithDaughter();
    const { family, steps } = observe(pid);
    family.terminate([]);
    await expect.poll(() => steps).toEqual(["SIGSTOP", "SIGTERM", "SIGCONT", "sweep"]);
  });

  it("continues its group if that alone is asked to end", async () => {
    const { pid, ended } = runScript("kill -STOP $$; exit 7");
    await expect.poll(() => readStat(pid)?.stopped).toBe(true);
    const { family, sweeper } = trace(pid);
    family.terminate([]);
    expect(await ended).toEqual({ code: null, signal: "SIGTERM" });
    await sweeper.idle();
  });

  it("is killed with what has left its group and resists", async () => {
    const { pid, ended, daughter } = await runWithDaughter('trap "" TERM; while :; do sleep 1; done');
    const { family, sweeper } = trace(pid);
    family.kill([]);
    expect(await ended).toEqual({ code: null, signal: "SIGKILL" });
    family.leaderReaped();
    await sweeper.idle();
    expect(isAlive(daughter)).toBe(false);
    expect(family.gone).toBe(true);
  });

  it("kills its group before anything is swept", async () => {
    const { pid } = runScript("exec sleep 60");
    const { family, steps } = observe(pid);
    family.kill([]);
    // On a busy machine, the search for descendants takes more than one turn.
    await expect.poll(() => steps).toEqual(["SIGSTOP", "SIGKILL", "sweep"]);
  });

  it("is ended although its output cannot be watched", async () => {
    const { pid, ended } = runScript("exec sleep 60");
    const { family, sweeper } = trace(pid);
    family.terminate([{ kind: "pipe", fd: 99_999 }]);
    expect(await ended).toEqual({ code: null, signal: "SIGTERM" });
    await sweeper.idle();
  });

  it("asks what holds its output, once, and kills it", async () => {
    const { readEnd, writeEnd } = openPipe();
    makeNonBlocking(readEnd);
    onTestFinished(() => closeSync(readEnd));
    let text = "";
    const read = (): string => {
      const bytes = Buffer.alloc(100);
      text += bytes.toString("latin1", 0, Math.max(0, libc().read(readEnd, bytes, bytes.length)));
      return text;
    };
    // It has left the family in every other way.
    const holder = runScript(
      "sleep 60 > /dev/null & trap 'echo asked' TERM; echo ready; while :; do wait; done",
      { stdout: writeEnd },
    );
    closeSync(writeEnd);
    await expect.poll(read).toBe("ready\n");
    const leader = runScript("trap '' TERM; echo ready; exec sleep 60");
    await leader.readLine();
    const { family, sweeper } = trace(leader.pid);
    const outputs = [{ kind: "pipe", fd: readEnd }] as const;
    family.terminate(outputs);
    await expect.poll(read).toBe("ready\nasked\n");
    family.terminate(outputs);
    await sweeper.idle();
    expect(family.gone).toBe(false);
    family.kill(outputs);
    expect(await holder.ended).toEqual({ code: null, signal: "SIGKILL" });
    expect(await leader.ended).toEqual({ code: null, signal: "SIGKILL" });
    family.leaderReaped();
    await sweeper.idle();
    expect(family.gone).toBe(true);
    expect(read()).toBe("ready\nasked\n");
  });

  it("is not looked for below a leader that has been reaped, whose number may be another's", async () => {
    const { pid, ended, daughter } = await runWithDaughter();
    const calls: string[] = [];
    const group: ProcessGroup = {
      gone: true,
      signal: (signal) => void calls.push(signal),
      leaderReaped: () => void calls.push("leaderReaped"),
    };
    const { family, sweeper } = trace(pid, group);
    family.leaderReaped();
    family.terminate([]);
    await sweeper.idle();
    family.kill([]);
    await sweeper.idle();
    expect(calls[0]).toBe("leaderReaped");
    // So this is the first signal that it gets.
    process.kill(daughter, "SIGUSR1");
    expect(await ended).toEqual({ code: 128 + constants.signals.SIGUSR1, signal: null });
  });

  it.each([
    ["is gone", true],
    ["lives", false],
  ])("stops what a straggler has started before it kills it, while its group %s", async (_, gone) => {
    const straggler = runScript("sleep 60 & echo $!; wait");
    const child = Number(await straggler.readLine());
    // Some leader that is gone.
    const { family } = trace(99_999_999, { gone, signal: () => {}, leaderReaped: () => {} });
    // With a clock that runs so fast, each step is followed by a turn of the event loop.
    let clock = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (clock += 10));
    onTestFinished(() => void vi.restoreAllMocks());
    let wasStopped = false;
    let isOver = false;
    const probe = (): void => {
      wasStopped ||= isBeingStopped(child);
      if (!isOver) setImmediate(probe);
    };
    probe();
    expect(wasStopped).toBe(false);
    const found = await family.killFound(new Map(), [readStat(straggler.pid)!]);
    isOver = true;
    expect([found, wasStopped]).toEqual([true, true]);
    await straggler.ended;
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  it("finds a member of its session whose leader is gone, and nobody in a session of that number later", async () => {
    const script = runScript("sleep 60 & echo $!");
    const { pid, ended } = script;
    const orphan = Number(await script.readLine());
    const groups = new ProcessGroups();
    const { family } = trace(pid, groups.track(pid, RECORD));
    await ended;
    family.leaderReaped();
    expect(family.gone).toBe(false);
    const snapshot = await readSnapshot();
    const later = trace(pid, { gone: true, signal: () => {}, leaderReaped: () => {} }).family;
    expect([await later.killFound(snapshot, []), isAlive(orphan)]).toEqual([false, true]);
    expect(await family.killFound(snapshot, [])).toBe(true);
    await expect.poll(() => isAlive(orphan)).toBe(false);
  });
});
