import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { sandboxedAccess } from "./file-access.ts";
import { ownLocation, Location } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("root/d/e"), { recursive: true });
  writeFileSync(at("root/f"), "12345");
  writeFileSync(at("secret"), "");
  symlinkSync("d", at("root/link"));
  symlinkSync("none", at("root/broken"));
  symlinkSync("../secret", at("root/out"));
});

const at = (name: string): string => join(directory, name);
const free = (name: string): Location => ownLocation(at(name));
const confined = (name: string): Location => new Location(at(name), new AllowedRoots([at("root")]));
const shown = (locations: readonly Location[]): string[] => locations.map((location) => location.shown);

it("has a name, a directory and entries", () => {
  const location = ownLocation("/a/b");
  expect([location.name, location.parent.shown, location.child("c").shown]).toEqual(["b", "/a", "/a/b/c"]);
  expect([location.parent.parent.shown, location.parent.parent.parent.shown]).toEqual(["/", "/"]);
  expect([ownLocation("/").name, ownLocation("/").isTop, ownLocation("/a").isTop]).toEqual([
    ".",
    true,
    false,
  ]);
});

it("is shown as text, and known by its bytes", () => {
  const bytes = new Location(Buffer.from("/a b\xff", "latin1"), sandboxedAccess);
  expect(bytes.shown).toBe("/a b\u{fffd}");
  expect(bytes.key).toBe("/a b\xff");
  expect(bytes.uri).toBe("file:///a%20b%FF");
  expect(ownLocation("/ä").key).toBe(Buffer.from("/ä").toString("latin1"));
});

it("passes on what its access trusts", () => {
  expect([free("root").isTrusted, free("root").child("f").isTrusted]).toEqual([true, true]);
  expect(new Location("/", sandboxedAccess).child("f").parent.isTrusted).toBe(false);
});

describe("where it leads", () => {
  it("is resolved if access is confined", () => {
    expect(confined("root/link/e").resolved().shown).toBe(at("root/d/e"));
    expect(confined("root/link/new").resolved().shown).toBe(at("root/d/new"));
    expect(free("root/link/e").resolved().shown).toBe(at("root/link/e"));
  });

  it("is without links", async () => {
    await expect(free("root/link/e").realPath()).resolves.toBe(at("root/d/e"));
    await expect(confined("root/link/e").realPath()).resolves.toBe(at("root/d/e"));
    await expect(free("root/none").realPath()).rejects.toMatchObject({ code: "ENOENT" });
    await expect(confined("root/none").realPath()).rejects.toMatchObject({ errno: "ENOENT" });
  });
});

it("is never outside while a directory and a link are exchanged", async () => {
  mkdirSync(at("outside/e"), { recursive: true });
  symlinkSync("../outside", at("root/away"));
  const exchanging = new Worker(
    `const { renameSync } = require("node:fs");
    const { parentPort, workerData: [directory, link] } = require("node:worker_threads");
    const exchange = (here, there) => {
      renameSync(here, here + "-aside");
      renameSync(there, here);
      renameSync(here, there);
      renameSync(here + "-aside", here);
    };
    for (let round = 0; ; round += 1) {
      exchange(directory, link);
      if (round === 0) parentPort.postMessage("begun");
    }`,
    { eval: true, workerData: [at("root/d"), at("root/away")] },
  );
  try {
    await once(exchanging, "message");
    const paths = new Set<string>();
    // A machine that stops the worker in the middle of an exchange lets nothing be found until it goes on.
    for (let round = 0; round < 120 || (paths.size === 0 && round < 20_000); round += 1) {
      const asked = Array.from({ length: 8 }, () => confined("root/d/e").realPath());
      for (const found of await Promise.allSettled(asked))
        if (found.status === "fulfilled") paths.add(String(found.value));
    }
    expect([...paths]).toEqual([at("root/d/e")]);
  } finally {
    await exchanging.terminate();
  }
});

describe("the way up", () => {
  it("ends at the root that access is confined to", async () => {
    const upwards = ["root/d/e", "root/d", "root"].map(at);
    expect(shown(confined("root/link/e").upwards())).toEqual(upwards);
    expect(shown(await confined("root/link/e").realUpwards())).toEqual(upwards);
    expect(shown(confined("root").upwards())).toEqual([at("root")]);
  });

  it("ends at the top otherwise, and keeps links unless it is real", async () => {
    const upwards = shown(free("root/link/e").upwards());
    expect(upwards.slice(0, 3)).toEqual(["root/link/e", "root/link", "root"].map(at));
    expect(upwards.at(-1)).toBe("/");
    expect(shown(await free("root/link/e").realUpwards()).slice(0, 3)).toEqual(
      ["root/d/e", "root/d", "root"].map(at),
    );
  });
});

it("knows the names that lead to it, and where access begins", () => {
  const names = at("root/f").split("/").slice(1);
  expect(free("root/f").way()).toEqual({ names, depthOfTop: 0, isBounded: false });
  expect(confined("root/f").way()).toEqual({ names, depthOfTop: names.length - 1, isBounded: true });
  expect(confined("secret").way().depthOfTop).toBe(names.length - 1);
});

it("is examined with and without following a link", async () => {
  for (const location of [free("root/link"), confined("root/link")]) {
    expect((await location.stat()).isDirectory()).toBe(true);
    expect((await location.lstat()).isSymbolicLink()).toBe(true);
    await expect(location.isLink()).resolves.toBe(true);
    await expect(location.child("e").isLink()).resolves.toBe(false);
  }
  await expect(free("root/out").isLink()).resolves.toBe(true);
});

it("has no status if it does not exist, or may not be reached", () => {
  for (const location of [free("root/f"), confined("root/f")]) expect(location.statIfExists()?.size).toBe(5);
  for (const name of ["root/none", "root/broken", "root/f/below"])
    for (const location of [free(name), confined(name)]) expect(location.statIfExists()).toBeUndefined();
  expect(free("root/out").statIfExists()?.size).toBe(0);
  expect(confined("root/out").statIfExists()).toBeUndefined();
});
