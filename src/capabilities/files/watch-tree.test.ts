import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { freeAccess } from "./file-access.ts";
import { Location } from "./location.ts";
import { type WatchOptions, watchTree } from "./watch-tree.ts";

type TreeChange = Parameters<WatchOptions["onChange"]>[0];

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("d/e"), { recursive: true });
  writeFileSync(at("f"), "");
});
const at = (name: string): string => join(directory, name);

/** What a watch has reported so far. */
class Reports {
  readonly changes: TreeChange[] = [];
  /** Resolves each report; called by the test. */
  release: (() => void) | undefined;
  readonly #holds: boolean;

  constructor({ holds = false } = {}) {
    this.#holds = holds;
  }

  readonly onChange = (change: TreeChange): Promise<void> => {
    this.changes.push(change);
    if (!this.#holds) return Promise.resolve();
    return new Promise((resolve) => (this.release = resolve));
  };

  /** Each path once, relative to the directory. */
  get paths(): string[] {
    const names = this.changes.flatMap(({ locations }) =>
      locations.map(({ shown }) => shown.slice(directory.length)),
    );
    return [...new Set(names)].sort();
  }

  async waitFor(...names: string[]): Promise<void> {
    await expect.poll(() => this.paths).toEqual(expect.arrayContaining(names));
  }
}

async function watch(
  name: string,
  { recursive = false, access = freeAccess, holds = false } = {},
): Promise<Reports & { stop: () => void }> {
  const reports = new Reports({ holds });
  const stop = await watchTree(new Location(name === "" ? directory : at(name), access), {
    recursive,
    onChange: reports.onChange,
  });
  onTestFinished(stop);
  return Object.assign(reports, { stop });
}

describe("a directory", () => {
  it.each([
    ["free", () => freeAccess],
    ["confined", () => new AllowedRoots([directory])],
  ])("reports what appears, changes and disappears in it: %s access", async (_, accessOf) => {
    const reports = await watch("", { access: accessOf() });
    writeFileSync(at("new"), "");
    await reports.waitFor("/new");
    writeFileSync(at("f"), "changed");
    await reports.waitFor("/f");
    rmSync(at("d"), { recursive: true });
    await reports.waitFor("/d");
    expect(reports.changes.some(({ overflow, ended }) => overflow || ended)).toBe(false);
  });

  it("reports what is below only if it is recursive", async () => {
    const [flat, deep] = [await watch(""), await watch("", { recursive: true })];
    writeFileSync(at("d/e/new"), "");
    await deep.waitFor("/d/e/new");
    writeFileSync(at("last"), "");
    await flat.waitFor("/last");
    expect(flat.paths).toEqual(["/last"]);
  });

  it("reports its own attributes under its own path", async () => {
    const reports = await watch("d");
    chmodSync(at("d"), 0o700);
    await reports.waitFor("/d");
  });

  it("watches directories that appear, with what they already contain", async () => {
    const reports = await watch("", { recursive: true });
    mkdirSync(at("prepared"));
    await reports.waitFor("/prepared");
    mkdirSync(at("prepared/x/y"), { recursive: true });
    writeFileSync(at("prepared/x/y/z"), "");
    await reports.waitFor("/prepared/x", "/prepared/x/y", "/prepared/x/y/z");
    writeFileSync(at("prepared/x/y/later"), "");
    await reports.waitFor("/prepared/x/y/later");
  });

  it("follows a directory that is renamed, and one that takes its place", async () => {
    const reports = await watch("", { recursive: true });
    renameSync(at("d"), at("moved"));
    await reports.waitFor("/d", "/moved", "/moved/e");
    writeFileSync(at("moved/e/f"), "");
    await reports.waitFor("/moved/e/f");
    mkdirSync(at("d/e"), { recursive: true });
    await reports.waitFor("/d/e");
    writeFileSync(at("d/e/f"), "");
    await reports.waitFor("/d/e/f");
  });

  it("does not follow links below, wherever they lead", async () => {
    mkdirSync(at("w"));
    symlinkSync("../d", at("w/link"));
    const reports = await watch("w", { recursive: true });
    writeFileSync(at("d/seen"), "");
    symlinkSync("../d/e", at("w/second"));
    writeFileSync(at("d/e/seen"), "");
    writeFileSync(at("w/last"), "");
    await reports.waitFor("/w/last", "/w/second");
    expect(reports.paths).toEqual(["/w/last", "/w/second"]);
  });

  it("is followed if it is reached by a link itself", async () => {
    symlinkSync("d", at("link"));
    const reports = await watch("link", { recursive: true });
    writeFileSync(at("d/e/f"), "");
    await reports.waitFor("/link/e/f");
  });

  it.each([
    ["removed", () => rmSync(at("d"), { recursive: true })],
    ["renamed", () => renameSync(at("d"), at("moved"))],
  ])("that is %s ends the watch, with its own path", async (_, change) => {
    for (const recursive of [false, true]) {
      mkdirSync(at("d/e"), { recursive: true });
      const reports = await watch("d", { recursive });
      change();
      await expect.poll(() => reports.changes.at(-1)?.ended).toBe(true);
      expect(reports.changes.filter(({ ended }) => ended)).toHaveLength(1);
      expect(reports.paths).toContain("/d");
      const { length } = reports.changes;
      mkdirSync(at("d/again"), { recursive: true });
      const others = await watch("");
      writeFileSync(at("marker"), `${recursive}`);
      await others.waitFor("/marker");
      expect(reports.changes).toHaveLength(length);
      rmSync(at("moved"), { recursive: true, force: true });
    }
  });

  it("that does not exist, or whose changes nobody reports, cannot be watched", async () => {
    await expect(watch("none")).rejects.toMatchObject({ errno: "ENOENT" });
    const options = { recursive: false, onChange: () => Promise.resolve() };
    await expect(watchTree(new Location("/proc/self", freeAccess), options)).rejects.toThrow(
      "does not report changes",
    );
    await expect(watchTree(new Location("/proc/self/status", freeAccess), options)).rejects.toThrow(
      "/proc/self: this file system does not report changes",
    );
    await expect(watch("d", { access: new AllowedRoots([at("d/e")]) })).rejects.toThrow("outside the roots");
  });
});

describe("a file", () => {
  it("is watched across being replaced, and nothing beside it is reported", async () => {
    const reports = await watch("f");
    writeFileSync(at("f"), "changed");
    await reports.waitFor("/f");
    writeFileSync(at("other"), "new");
    renameSync(at("other"), at("f"));
    await expect.poll(() => reports.changes.length).toBeGreaterThan(1);
    rmSync(at("f"));
    await expect.poll(() => reports.changes.length).toBeGreaterThan(2);
    chmodSync(directory, 0o755);
    writeFileSync(at("f"), "");
    await expect.poll(() => reports.changes.length).toBeGreaterThan(3);
    expect(reports.paths).toEqual(["/f"]);
  });

  it("is watched for itself alone, though the request is recursive", async () => {
    const reports = await watch("f", { recursive: true });
    mkdirSync(at("d2/below"), { recursive: true });
    writeFileSync(at("d/e/x"), "");
    writeFileSync(at("f"), "changed");
    await reports.waitFor("/f");
    expect(reports.paths).toEqual(["/f"]);
  });

  it("ends its watch when its directory is gone", async () => {
    writeFileSync(at("d/f"), "");
    const reports = await watch("d/f");
    rmSync(at("d"), { recursive: true });
    await expect.poll(() => reports.changes.at(-1)?.ended).toBe(true);
    expect(reports.paths).toEqual(["/d/f"]);
  });
});

describe("reports", () => {
  it("wait until the last one was taken, and then hold everything since", async () => {
    const reports = await watch("", { holds: true });
    writeFileSync(at("first"), "");
    await reports.waitFor("/first");
    const others = await watch("");
    writeFileSync(at("second"), "");
    await others.waitFor("/second");
    expect(reports.paths).toEqual(["/first"]);
    reports.release!();
    await reports.waitFor("/second");
  });

  it("list at most 1024 paths, and say that there were more", async () => {
    const reports = await watch("d", { holds: true });
    writeFileSync(at("d/first"), "");
    await reports.waitFor("/d/first");
    const others = await watch("d");
    for (let index = 0; index < 1030; index += 1) symlinkSync("nowhere", at(`d/${index}`));
    await others.waitFor("/d/0");
    writeFileSync(at("d/last"), "");
    await others.waitFor("/d/last");
    // On a busy machine the watch that is tested comes later. It handles at least one event in a turn.
    for (let turn = 0; turn < 1_100; turn += 1) await setImmediate();
    reports.release!();
    await expect.poll(() => reports.changes.length).toBe(2);
    expect(reports.changes[1]!.locations).toHaveLength(1024);
    expect(reports.changes.map(({ overflow }) => overflow)).toEqual([false, true]);
    reports.release!();
    writeFileSync(at("d/again"), "");
    await reports.waitFor("/d/again");
    expect(reports.changes[2]!.overflow).toBe(false);
  });

  it("end with the watch", async () => {
    const reports = await watch("");
    writeFileSync(at("new"), "");
    reports.stop();
    const others = await watch("");
    writeFileSync(at("marker"), "");
    await others.waitFor("/marker");
    expect(reports.changes).toEqual([]);
  });
});

it("says the same for names that are not text", async () => {
  const name = Buffer.from(`${directory}/\xff`, "latin1");
  mkdirSync(name);
  const keys = new Set<string>();
  const stop = await watchTree(new Location(directory, freeAccess), {
    recursive: true,
    onChange: async ({ locations }) => locations.forEach(({ key }) => keys.add(key)),
  });
  onTestFinished(stop);
  writeFileSync(Buffer.concat([name, Buffer.from("/f")]), "");
  await expect.poll(() => [...keys]).toContain(`${name.toString("latin1")}/f`);
});
