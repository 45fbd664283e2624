import { closeSync, readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { runScript } from "../../../../test/fixtures/running-script.ts";
import { openPipe } from "../../../native/spawn.ts";
import { WatchedOutput } from "../output/output-holders.ts";
import { Sweeper, type SweptFamily } from "./sweeper.ts";

/** A family that is found as often as it is said. */
class FakeFamily implements SweptFamily {
  readonly pid: number;
  /** What was done, to which holders of the output. */
  readonly calls: string[] = [];
  #finds: number;

  constructor(pid: number, finds = 0) {
    this.pid = pid;
    this.#finds = finds;
  }

  terminateFound(snapshot: ReadonlyMap<number, unknown>, holders: readonly { pid: number }[]): void {
    expect(snapshot.has(process.pid)).toBe(true);
    this.calls.push(["ask", ...holders.map(({ pid }) => pid)].join(" "));
  }

  async killFound(_: unknown, holders: readonly { pid: number }[]): Promise<boolean> {
    this.calls.push(["kill", ...holders.map(({ pid }) => pid)].join(" "));
    this.#finds -= 1;
    return this.#finds >= 0;
  }
}

/** An output that a process of another session holds. */
function heldOutput(): { output: WatchedOutput; holder: number } {
  const { readEnd, writeEnd } = openPipe();
  onTestFinished(() => closeSync(readEnd));
  const output = new WatchedOutput({ kind: "pipe", fd: readEnd });
  const { pid } = runScript("exec sleep 60", { stdout: writeEnd });
  closeSync(writeEnd);
  return { output, holder: pid };
}

const NO_LEADERS = (): boolean => false;
const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

describe("Sweeper", () => {
  it("kills until nothing more is found", async () => {
    const sweeper = new Sweeper(NO_LEADERS);
    const family = new FakeFamily(1, 2);
    sweeper.sweep(family, { outputs: [], kill: true });
    await sweeper.idle();
    expect(family.calls).toEqual(["kill", "kill", "kill"]);
  });

  it("asks once, whatever is found", async () => {
    const sweeper = new Sweeper(NO_LEADERS);
    const family = new FakeFamily(1, 2);
    sweeper.sweep(family, { outputs: [], kill: false });
    await sweeper.idle();
    expect(family.calls).toEqual(["ask"]);
    // And again when it is asked to.
    sweeper.sweep(family, { outputs: [], kill: true });
    await sweeper.idle();
    expect(family.calls).toEqual(["ask", "kill", "kill", "kill"]);
  });

  it("does no more for a sweep that another has replaced", async () => {
    const sweeper = new Sweeper(NO_LEADERS);
    const second = new FakeFamily(2);
    class First extends FakeFamily {
      override terminateFound(...found: Parameters<FakeFamily["terminateFound"]>): void {
        super.terminateFound(...found);
        sweeper.sweep(second, { outputs: [], kill: true });
      }
    }
    sweeper.sweep(new First(1), { outputs: [], kill: false });
    sweeper.sweep(second, { outputs: [], kill: false });
    await sweeper.idle();
    expect(second.calls).toEqual(["kill"]);
  });

  it("looks ever less often, and no more than 40 times for what cannot be killed", async () => {
    const pauses: number[] = [];
    const sweeper = new Sweeper(NO_LEADERS, async (ms) => void pauses.push(ms));
    const family = new FakeFamily(1, 1_000);
    sweeper.sweep(family, { outputs: [], kill: true });
    await sweeper.idle();
    expect(family.calls).toHaveLength(40);
    expect(pauses.slice(0, 4)).toEqual([10, 15, 22.5, 33.75]);
    expect(Math.max(...pauses)).toBe(200);
    // The next one is looked for soon again.
    pauses.length = 0;
    sweeper.sweep(new FakeFamily(2), { outputs: [], kill: true });
    await sweeper.idle();
    expect(pauses).toEqual([10]);
  });

  it("finds who holds an output, and closes it in the end", async () => {
    const before = openDescriptors();
    const { output, holder } = heldOutput();
    const sweeper = new Sweeper(NO_LEADERS);
    const [owner, other] = [new FakeFamily(1, 1), new FakeFamily(2)];
    sweeper.sweep(owner, { outputs: [output], kill: true });
    sweeper.sweep(other, { outputs: [], kill: false });
    await sweeper.idle();
    expect(owner.calls).toEqual([`kill ${holder}`, `kill ${holder}`]);
    expect(other.calls).toEqual(["ask"]);
    // The pipe's other end, which the test has.
    expect(openDescriptors()).toBe(before + 1);
  });

  it("leaves a holder alone that is another process of this server, but not the family's own", async () => {
    const { output, holder } = heldOutput();
    const sweeper = new Sweeper((pid) => pid === holder);
    const stranger = new FakeFamily(1);
    sweeper.sweep(stranger, { outputs: [output], kill: false });
    await sweeper.idle();
    expect(stranger.calls).toEqual(["ask"]);
    const again = heldOutput();
    const own = new FakeFamily(again.holder);
    const leaders = new Sweeper(() => true);
    leaders.sweep(own, { outputs: [again.output], kill: false });
    await leaders.idle();
    expect(own.calls).toEqual([`ask ${again.holder}`]);
  });

  it("replaces a sweep by a later one of the same family", async () => {
    const before = openDescriptors();
    const { output } = heldOutput();
    const sweeper = new Sweeper(NO_LEADERS);
    const family = new FakeFamily(1);
    sweeper.sweep(family, { outputs: [output], kill: false });
    sweeper.sweep(family, { outputs: [], kill: true });
    expect(openDescriptors()).toBe(before + 1);
    await sweeper.idle();
    expect(family.calls).toEqual(["kill"]);
  });
});
