import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CodeCache } from "./code-cache.ts";

const DATA = Buffer.from("what V8 made of it");
const NOBODY = 65_534;
const asRoot = process.geteuid?.() === 0;

let home: string;
let program: string;
let directory: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "exec-server-cache-"));
  program = join(home, "cli.js");
  writeFileSync(program, "the file");
  directory = join(home, ".cache", "exec-server");
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

interface Options {
  readonly text?: string;
  readonly runtime?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

function open({ text = "text", runtime = "node", environment = { HOME: home } }: Options = {}): CodeCache {
  return new CodeCache({ program, text: Buffer.from(text), runtime, environment });
}

const found = (cache = open()): string[] => [...cache.find()].map(String);

async function storeDefault(): Promise<string> {
  await open().store(DATA);
  const [name = "nothing"] = readdirSync(directory);
  return join(directory, name);
}

/** As the build leaves it. */
async function storeBeside(): Promise<string> {
  const kept = await storeDefault();
  const beside = `${program}.cache`;
  writeFileSync(beside, readFileSync(kept), { mode: 0o644 });
  rmSync(directory, { recursive: true });
  return beside;
}

it("finds nothing where nothing was kept", () => {
  expect(found()).toEqual([]);
});

it("finds what was kept, in a directory and a file that are the user's alone", async () => {
  const file = await storeDefault();
  expect(found()).toEqual([String(DATA)]);
  expect(lstatSync(directory).mode & 0o777).toBe(0o700);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
});

it("takes the file beside the program first", async () => {
  const beside = await storeBeside();
  expect(found()).toEqual([String(DATA)]);
  await open().store(Buffer.from("kept"));
  expect(found()).toEqual([String(DATA), "kept"]);
  rmSync(beside);
  expect(found()).toEqual(["kept"]);
});

it("uses XDG_CACHE_HOME if it is absolute, and no directory without a home", async () => {
  const elsewhere = join(home, "elsewhere");
  await open({ environment: { HOME: home, XDG_CACHE_HOME: elsewhere } }).store(DATA);
  expect(readdirSync(join(elsewhere, "exec-server"))).toHaveLength(1);
  await open({ environment: { HOME: home, XDG_CACHE_HOME: "relative" } }).store(DATA);
  expect(readdirSync(directory)).toHaveLength(1);
  await open({ environment: {} }).store(DATA);
  expect(found(open({ environment: {} }))).toEqual([]);
  expect(existsSync("relative")).toBe(false);
});

describe.each([
  ["in the user's directory", storeDefault],
  ["beside the program", storeBeside],
])("a file %s", (_where, store) => {
  it("of another program or another Node does not count", async () => {
    const file = await store();
    for (const other of [open({ text: "test" }), open({ runtime: "edon" })]) expect(found(other)).toEqual([]);
    // Not even under the name of this one's.
    await open({ text: "test" }).store(DATA);
    const [foreign = ""] = readdirSync(directory).filter((name) => join(directory, name) !== file);
    writeFileSync(file, readFileSync(join(directory, foreign)));
    expect(found()).toEqual([]);
  });

  it("that is damaged, short or empty does not count", async () => {
    const file = await store();
    const whole = readFileSync(file);
    for (const at of [0, 40, whole.length - 1]) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
      writeFileSync(file, damaged);
      expect(found(), `byte ${at}`).toEqual([]);
    }
    for (const length of [whole.length - 1, 32, 20, 0]) {
      writeFileSync(file, whole.subarray(0, length));
      expect(found(), `${length} bytes`).toEqual([]);
    }
    writeFileSync(file, whole);
    expect(found()).toEqual([String(DATA)]);
  });

  it("that others can write, that is a link, or that is no file does not count", async () => {
    const file = await store();
    for (const mode of [0o620, 0o602]) {
      chmodSync(file, mode);
      expect(found(), mode.toString(8)).toEqual([]);
    }
    chmodSync(file, 0o600);
    const moved = join(home, "moved");
    writeFileSync(moved, readFileSync(file), { mode: 0o600 });
    rmSync(file);
    symlinkSync(moved, file);
    expect(found()).toEqual([]);
    rmSync(file);
    mkdirSync(file);
    expect(found()).toEqual([]);
  });

  it.runIf(asRoot)("of another user does not count", async () => {
    const file = await store();
    chownSync(file, NOBODY, NOBODY);
    expect(found()).toEqual([]);
  });
});

it.runIf(asRoot)(
  "a file beside the program may be its owner's, who could change the program too",
  async () => {
    chownSync(await storeBeside(), NOBODY, NOBODY);
    chownSync(program, NOBODY, NOBODY);
    expect(found()).toEqual([String(DATA)]);
  },
);

it("a directory that others can write, or a link to one, is neither read nor written", async () => {
  await storeDefault();
  chmodSync(directory, 0o770);
  expect(found()).toEqual([]);
  await open({ text: "another" }).store(DATA);
  expect(readdirSync(directory)).toHaveLength(1);
  chmodSync(directory, 0o700);
  const linked = join(home, "linked");
  mkdirSync(linked);
  symlinkSync(directory, join(linked, "exec-server"));
  const environment = { XDG_CACHE_HOME: linked };
  expect(found(open({ environment }))).toEqual([]);
  await open({ text: "another", environment }).store(DATA);
  expect(readdirSync(directory)).toHaveLength(1);
});

it.runIf(asRoot)("a directory of another user is neither read nor written", async () => {
  await storeDefault();
  chownSync(directory, NOBODY, NOBODY);
  expect(found()).toEqual([]);
  await open({ text: "another" }).store(DATA);
  expect(readdirSync(directory)).toHaveLength(1);
});

it("what cannot be kept is no error", async () => {
  writeFileSync(join(home, ".cache"), "a file where the directory should be");
  await open().store(DATA);
  await open({ environment: { XDG_CACHE_HOME: "/proc" } }).store(DATA);
  expect(found()).toEqual([]);
});

it("replaces a damaged file, and leaves nothing unfinished behind", async () => {
  const file = await storeDefault();
  writeFileSync(file, "damaged");
  await open().store(DATA);
  expect(readdirSync(directory)).toHaveLength(1);
  expect(found()).toEqual([String(DATA)]);
});

it("several that keep at once leave one whole file", async () => {
  await Promise.all(Array.from({ length: 8 }, () => open().store(DATA)));
  expect(readdirSync(directory)).toHaveLength(1);
  expect(found()).toEqual([String(DATA)]);
});

it("removes what a killed server left unfinished, but not what another is writing", async () => {
  await storeDefault();
  for (const name of ["new-old", "new-young"]) writeFileSync(join(directory, name), "half");
  utimesSync(join(directory, "new-old"), 1, 1);
  await open().store(DATA);
  expect(readdirSync(directory).filter((name) => name.startsWith("new-"))).toEqual(["new-young"]);
});

it("keeps the four newest files", async () => {
  const names: string[] = [];
  for (let version = 1; version <= 6; version += 1) {
    await open({ text: `version ${version}` }).store(DATA);
    for (const name of readdirSync(directory)) {
      if (names.includes(name)) continue;
      names.push(name);
      utimesSync(join(directory, name), version, version);
    }
  }
  expect(names).toHaveLength(6);
  expect(new Set(readdirSync(directory))).toEqual(new Set(names.slice(-4)));
});
