import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { DESCRIPTORS, expectedMounts, STAGE_PATH } from "./bubblewrap/bubblewrap-arguments.ts";
import { type Confinement, type InnerProgram, Sandbox } from "./sandbox.ts";

const INNER: InnerProgram = { name: "true", argv: ["true"], env: ["A=1"], cwd: "/", onTerminal: false };
const NOTHING = { root: "readOnly", mounts: [] } as const;
const RESTRICTED: Confinement = { view: NOTHING, network: "restricted" };
const ENABLED: Confinement = { view: NOTHING, network: "enabled" };

let directory: string;
let sandbox: Sandbox;
beforeEach(() => {
  directory = temporaryDirectory();
  install();
  sandbox = new Sandbox(directory);
});
afterEach(() => vi.useRealTimers());

const bwrap = (): string => join(directory, "bwrap");
function install(): void {
  writeFileSync(
    bwrap(),
    `#!/bin/sh\necho run >> '${directory}/runs'; echo 'bubblewrap 0.8.0 --bind-fd FD'\n`,
  );
  chmodSync(bwrap(), 0o755);
}
const runs = (): number => readFileSync(join(directory, "runs"), "utf8").split("\n").length - 1;

describe("bubblewrap", () => {
  it("is looked at once", async () => {
    const found = await sandbox.bubblewrap();
    expect(found).toMatchObject({ path: bwrap(), version: "0.8.0" });
    await expect(sandbox.bubblewrap()).resolves.toBe(found);
    expect(runs()).toBe(2);
    expect(sandbox.isInstalled).toBe(true);
  });

  it("is looked for again if there was none", async () => {
    const later = new Sandbox(join(directory, "later"));
    expect(later.isInstalled).toBe(false);
    await expect(later.bubblewrap()).rejects.toThrow("was not found");
    await expect(later.confine(INNER, RESTRICTED)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    directory = join(directory, "later");
    mkdirSync(directory);
    install();
    expect(later.isInstalled).toBe(true);
    await expect(later.bubblewrap()).resolves.toMatchObject({ path: bwrap() });
  });
});

describe("a trial", () => {
  const HOLDS = { weaknesses: [], failure: undefined };

  it("is made once if the sandbox holds", async () => {
    const trial = vi.fn(async () => HOLDS);
    await sandbox.prove(trial);
    await sandbox.prove(trial);
    expect(trial).toHaveBeenCalledOnce();
  });

  it("that fails is repeated after a while, in which its error stays", async () => {
    await sandbox.bubblewrap();
    vi.useFakeTimers();
    const failed = async () => ({ weaknesses: [], failure: "(ENOSPC)" });
    const weak = async () => ({ weaknesses: ["read", "write"], failure: undefined });
    await expect(sandbox.prove(failed)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("(ENOSPC); remedy: "),
    });
    await expect(sandbox.prove(async () => HOLDS)).rejects.toThrow("(ENOSPC)");
    vi.advanceTimersByTime(5_000);
    await expect(sandbox.prove(weak)).rejects.toThrow("a program inside could read, write");
    vi.advanceTimersByTime(5_000);
    await sandbox.prove(async () => HOLDS);
    vi.advanceTimersByTime(5_000);
    await sandbox.prove(failed);
  });
});

describe("the network of the machine", () => {
  it("is in use while something inside may use it, and for a minute more", async () => {
    await sandbox.bubblewrap();
    vi.useFakeTimers();
    expect(sandbox.usesNetwork).toBe(false);
    const [first, second] = [await sandbox.confine(INNER, ENABLED), await sandbox.confine(INNER, ENABLED)];
    for (const { started } of [first, second]) started();
    vi.advanceTimersByTime(100_000);
    first.ended();
    vi.advanceTimersByTime(100_000);
    expect(sandbox.usesNetwork).toBe(true);
    second.ended();
    vi.advanceTimersByTime(59_999);
    expect(sandbox.usesNetwork).toBe(true);
    vi.advanceTimersByTime(1);
    expect(sandbox.usesNetwork).toBe(false);
  });

  it("is not in use by what has none", async () => {
    const { started, ended } = await sandbox.confine(INNER, RESTRICTED);
    expect(sandbox.usesNetwork).toBe(false);
    started();
    ended();
    expect(sandbox.usesNetwork).toBe(false);
  });
});

describe("a confined program", () => {
  it("is run by bubblewrap without any variable, and gets its own in a file", async () => {
    const inner = { ...INNER, env: ["A=1", "PWD=/elsewhere"], cwd: "/tmp" };
    const { program, started, ended } = await sandbox.confine(inner, RESTRICTED);
    expect(program).toMatchObject({ path: bwrap(), env: [], cwd: "/" });
    const { from } = program.descriptors!.find(({ to }) => to === DESCRIPTORS.lists)!;
    const mounts = expectedMounts(NOTHING).length;
    const environment = readFileSync(`/proc/self/fd/${from}`, "utf8").slice(mounts);
    expect(environment).toBe("A=1\0PWD=/tmp\0");
    const command = program.argv.slice(program.argv.indexOf("--") + 1);
    const numbers = ["7", `${mounts}`, `${environment.length}`];
    expect(command).toEqual([STAGE_PATH, "-", "-", "-", ...numbers, "true", "true"]);
    started();
    expect(() => readFileSync(`/proc/self/fd/${from}`)).toThrow();
    ended();
  });

  it("knows whether it has a terminal, and the ports of its proxy", async () => {
    const listeners = { ports: [1080, 3128], socket: 0 };
    const { program, started, ended } = await sandbox.confine(
      { ...INNER, onTerminal: true },
      { view: NOTHING, network: "proxied", listeners },
    );
    const command = program.argv.slice(program.argv.indexOf("--") + 1);
    expect(command.slice(0, 4)).toEqual([STAGE_PATH, "t", "6", "1080,3128"]);
    expect(program.descriptors).toContainEqual({ from: 0, to: DESCRIPTORS.listeners });
    started();
    ended();
  });

  it.each([60, 61])("has numbers for %d mounts, the lowest that are no descriptors here", async (count) => {
    const paths = Array.from({ length: count }, (_, index) => join(directory, `${index}`));
    for (const path of paths) mkdirSync(path);
    const mounts = paths.map((path) => ({ kind: "writable", path }) as const);
    const { program, started, ended } = await sandbox.confine(INNER, {
      view: { root: "readOnly", mounts },
      network: "restricted",
    });
    const pinned = program.descriptors!.filter(({ to }) => to >= DESCRIPTORS.firstPinned);
    const taken = new Set(pinned.map(({ from }) => from));
    const free = Array.from({ length: 1000 }, (_, index) => DESCRIPTORS.firstPinned + index).filter(
      (number) => !taken.has(number),
    );
    expect(pinned.map(({ to }) => to)).toEqual(free.slice(0, count));
    expect(openAround(directory)).toHaveLength(count);
    for (const [index, { to }] of pinned.entries()) {
      const at = program.argv.indexOf(paths[index]!);
      expect(program.argv.slice(at - 2, at)).toEqual(["--bind-fd", `${to}`]);
    }
    started();
    ended();
    expect(openAround(directory)).toEqual([]);
  });

  it("reserves names that do not exist, and gives them up when it has ended", async () => {
    const path = join(directory, "reserved");
    const view = { root: "writable", mounts: [{ kind: "absent", path }] } as const;
    const { started, ended } = await sandbox.confine(INNER, { view, network: "restricted" });
    expect(readdirSync(directory)).toContain("reserved");
    started();
    ended();
    expect(readdirSync(directory)).not.toContain("reserved");
  });

  it("leaves nothing behind if it cannot be prepared", async () => {
    const absent = { kind: "absent", path: join(directory, "reserved") } as const;
    const missing = { kind: "writable", path: join(directory, "missing") } as const;
    const view = { root: "writable", mounts: [absent, missing] } as const;
    await expect(sandbox.confine(INNER, { view, network: "enabled" })).rejects.toThrow("was removed");
    await expect(sandbox.confine({ ...INNER, env: ["A=\0"] }, ENABLED)).rejects.toThrow("nul byte");
    await expect(sandbox.confine({ ...INNER, cwd: Buffer.from([0xff]) }, ENABLED)).rejects.toThrow("UTF-8");
    expect(readdirSync(directory)).not.toContain("reserved");
    expect(openAround(directory)).toEqual([]);
  });
});
