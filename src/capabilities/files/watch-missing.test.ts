import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { freeAccess } from "./file-access.ts";
import { Location } from "./location.ts";
import { watchMissing } from "./watch-missing.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("a/b"), { recursive: true });
  writeFileSync(at("present"), "old");
  writeFileSync(at("a/new"), "");
});
const at = (name: string): string => join(directory, name);

/** Watches, and returns how often a change was reported; undefined if that cannot be watched. */
async function watch(
  missing: readonly string[],
  present?: string,
  access = freeAccess,
): Promise<(() => number) | undefined> {
  let changes = 0;
  const location = (path: string): Location => new Location(path.startsWith("/") ? path : at(path), access);
  const stop = await watchMissing(
    missing.map(location),
    present === undefined ? undefined : location(present),
    () => {
      changes += 1;
    },
  );
  expect(openAround(directory)).toEqual([]);
  if (stop === undefined) return undefined;
  onTestFinished(stop);
  return () => changes;
}

/** Events of the system that were on their way have arrived. */
async function expectChanges(changes: () => number, expected: number): Promise<void> {
  let arrived = 0;
  const marker = at("marker");
  mkdirSync(marker);
  const stop = await watchMissing(
    [new Location(join(marker, "f"), freeAccess)],
    undefined,
    () => (arrived += 1),
  );
  writeFileSync(join(marker, "f"), "");
  await expect.poll(() => arrived).toBe(1);
  stop?.();
  rmSync(marker, { recursive: true });
  expect(changes()).toBe(expected);
}

describe.each([
  ["free", () => freeAccess],
  ["confined", () => new AllowedRoots([directory])],
])("with %s access", (_, accessOf) => {
  it.each<[string, () => void]>([
    ["the path appears", () => writeFileSync(at("a/b/f"), "")],
    ["another missing path appears", () => mkdirSync(at("other"))],
    ["a directory on the way disappears", () => rmSync(at("a/b"), { recursive: true })],
    ["a directory on the way is renamed", () => renameSync(at("a"), at("z"))],
    ["what is present changes", () => writeFileSync(at("present"), "new")],
    ["what is present disappears", () => rmSync(at("present"))],
    ["what is present is replaced", () => renameSync(at("a/new"), at("present"))],
  ])("reports once that %s", async (_name, change) => {
    const changes = (await watch(["a/b/f", "other"], "present", accessOf()))!;
    change();
    await expect.poll(changes).toBe(1);
    writeFileSync(at("present"), "again");
    await expectChanges(changes, 1);
  });

  it("reports nothing else", async () => {
    const changes = (await watch(["a/b/f", "x/y"], "present", accessOf()))!;
    writeFileSync(at("a/b/other"), "");
    writeFileSync(at("a/other"), "");
    mkdirSync(at("unrelated"));
    await expectChanges(changes, 0);
  });

  it("watches a missing path whose directory is missing, too", async () => {
    const changes = (await watch(["x/y/z"], undefined, accessOf()))!;
    mkdirSync(at("x"));
    await expect.poll(changes).toBe(1);
  });

  it("watches a name of which the present one is on the way", async () => {
    const changes = (await watch(["a/f"], "a", accessOf()))!;
    writeFileSync(at("a/b/f"), "");
    await expectChanges(changes, 0);
    chmodSync(at("a"), 0o700);
    await expect.poll(changes).toBe(1);
  });

  it("watches nothing that it cannot watch reliably", async () => {
    symlinkSync("a", at("link"));
    const access = accessOf();
    await expect(watch([], undefined, access)).resolves.toBeUndefined();
    for (const missing of [["present"], ["link/f"], ["present/f"], ["a/b/f", "present"]])
      await expect(watch(missing, undefined, access), missing.join()).resolves.toBeUndefined();
    for (const present of ["none", "link", "a/none"])
      await expect(watch(["f"], present, access), present).resolves.toBeUndefined();
    const many = Array.from({ length: 65 }, (_name, index) => `missing-${index}`);
    await expect(watch(many, undefined, access)).resolves.toBeUndefined();
    await expect(watch(many.slice(1), undefined, access)).resolves.toBeDefined();
  });
});

it("follows a link to what is present, if access is free", async () => {
  symlinkSync("a", at("link"));
  writeFileSync(at("a/f"), "old");
  const changes = (await watch(["missing"], "link/f"))!;
  writeFileSync(at("a/f"), "new");
  await expect.poll(changes).toBe(1);
  await expect(watch(["missing"], "link/f", new AllowedRoots([directory]))).resolves.toBeUndefined();
});

it("watches no file of the kernel", async () => {
  await expect(watch(["/proc/self/none"])).resolves.toBeUndefined();
  await expect(watch(["f"], "/proc/self/status")).resolves.toBeUndefined();
});

it("reports nothing after its end", async () => {
  let changes = 0;
  const stop = await watchMissing([new Location(at("f"), freeAccess)], undefined, () => (changes += 1));
  stop!();
  writeFileSync(at("f"), "");
  await expectChanges(() => changes, 0);
});
