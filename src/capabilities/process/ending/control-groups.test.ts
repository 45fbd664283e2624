import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { CapabilityError } from "../../../base/errors.ts";
import type { ControlGroup } from "../../../native/control-group.ts";
import { homeGroup } from "./control-group-home.ts";
import { ControlGroups } from "./control-groups.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** In a plain directory, where no group has processes; a file in one keeps it from being removed, as those would. */
function openGroups(): { own: string; groups: ControlGroups; announced: string[] } {
  const own = mkdtempSync(join(tmpdir(), "control-groups-"));
  onTestFinished(() => rmSync(own, { recursive: true, force: true }));
  const announced: string[] = [];
  const groups = new ControlGroups(
    (home) => announced.push(`${home} ${readdirSync(own).length}`),
    () => own,
  );
  return { own, groups, announced };
}

const occupy = ({ path }: ControlGroup): void => writeFileSync(join(path, "member"), "");
const vacate = ({ path }: ControlGroup): void => rmSync(join(path, "member"));

/** Whether a promise has settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe("ControlGroups", () => {
  it("announces its home once, before the first group is there", () => {
    const { own, groups, announced } = openGroups();
    const [one, other] = [groups.create(), groups.create()];
    const home = homeGroup(own).path;
    expect(announced).toEqual([`${home} 0`]);
    expect([dirname(one.path), dirname(other.path)]).toEqual([home, home]);
    expect(one.path).not.toBe(other.path);
    expect([existsSync(one.path), groups.has(one)]).toEqual([true, true]);
  });

  it("removes an empty group at once, and its home with the last", async () => {
    const { own, groups } = openGroups();
    const [one, other] = [groups.create(), groups.create()];
    const emptied = groups.emptied();
    groups.release(one);
    expect([existsSync(one.path), groups.has(one)]).toEqual([false, false]);
    expect([existsSync(other.path), groups.has(other)]).toEqual([true, true]);
    expect(await isSettled(emptied)).toBe(false);
    groups.release(other);
    await emptied;
    expect(readdirSync(own)).toEqual([]);
    await groups.emptied();
    // The next one has a home again.
    const next = groups.create();
    expect(existsSync(next.path)).toBe(true);
  });

  it("removes what was made in a group a few at a time, without waiting longer each time", () => {
    const { groups } = openGroups();
    const group = groups.create();
    for (let index = 0; index < 100; index += 1)
      mkdirSync(join(group.path, `g${index}`, "inner"), { recursive: true });
    const other = groups.create();
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
    onTestFinished(() => clock.mockRestore());
    groups.release(group);
    const left = readdirSync(group.path).length;
    expect(left).toBeGreaterThan(90);
    expect(left).toBeLessThan(100);
    // Others are not kept waiting by it.
    groups.release(other);
    expect(groups.has(other)).toBe(false);
    vi.advanceTimersByTime(50 * 5);
    expect(groups.has(group)).toBe(false);
    expect(existsSync(group.path)).toBe(false);
  });

  it("looks for the end of a released group ever less often, and sooner after another release", async () => {
    const { groups } = openGroups();
    const group = groups.create();
    occupy(group);
    groups.release(group);
    const emptied = groups.emptied();
    vi.advanceTimersByTime(5 + 10 + 20 + 40);
    expect(groups.has(group)).toBe(true);
    vacate(group);
    vi.advanceTimersByTime(79);
    expect(groups.has(group)).toBe(true);
    vi.advanceTimersByTime(1);
    expect(groups.has(group)).toBe(false);
    await emptied;
    expect(vi.getTimerCount()).toBe(0);

    const stubborn = groups.create();
    occupy(stubborn);
    groups.release(stubborn);
    vi.advanceTimersByTime(60_000);
    vacate(stubborn);
    vi.advanceTimersByTime(2_000);
    expect(groups.has(stubborn)).toBe(false);

    const [early, late] = [groups.create(), groups.create()];
    occupy(early);
    groups.release(early);
    vi.advanceTimersByTime(60_000);
    groups.release(late);
    vacate(early);
    vi.advanceTimersByTime(5);
    expect(groups.has(early)).toBe(false);
  });

  it("kills all groups, and again those that it could not kill", () => {
    const { groups } = openGroups();
    const [one, other] = [groups.create(), groups.create()];
    const refusals = 2;
    let kills = 0;
    vi.spyOn(other, "kill").mockImplementation(() => {
      kills += 1;
      if (kills <= refusals) throw Object.assign(new Error("none is free"), { code: "EMFILE" });
    });
    occupy(other);
    groups.killAll();
    expect([groups.has(one), groups.has(other), kills]).toEqual([false, true, 1]);
    vi.advanceTimersByTime(5);
    expect(kills).toBe(2);
    vi.advanceTimersByTime(10);
    expect(kills).toBe(3);
    // It is killed, and only not empty yet.
    vi.advanceTimersByTime(60_000);
    expect(kills).toBe(3);
    vacate(other);
    vi.advanceTimersByTime(2_000);
    expect(groups.has(other)).toBe(false);
  });

  it("removes what servers that are gone have left", () => {
    const { own, groups } = openGroups();
    const abandoned = homeGroup(own).path.replace(/\d+$/, "1");
    mkdirSync(join(abandoned, "7/below"), { recursive: true });
    const { path } = groups.create();
    expect(existsSync(abandoned)).toBe(false);
    expect(existsSync(path)).toBe(true);
  });

  it("says that a process cannot be contained, and why", async () => {
    const missing = new ControlGroups(
      () => {},
      () => {
        throw new CapabilityError("UNSUPPORTED", "there are none");
      },
    );
    const refused = {
      code: "UNSUPPORTED",
      message: "the process cannot be contained: there are none",
    };
    expect(() => missing.create()).toThrow(expect.objectContaining(refused));
    const { groups } = openGroups();
    const group = groups.create();
    rmSync(group.path, { recursive: true });
    await expect(groups.join(group, 1)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("ENOENT"),
    });
    const without = new ControlGroups(
      () => {},
      () => {
        throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      },
    );
    expect(() => without.create()).toThrow(expect.objectContaining({ errno: "EMFILE" }));
  });

  it("leaves a group alone that is gone when it is asked to end", () => {
    const { groups } = openGroups();
    const group = groups.create();
    rmSync(group.path, { recursive: true });
    expect(() => groups.ask(group)).not.toThrow();
    groups.kill(group);
    expect(groups.has(group)).toBe(false);
  });
});
