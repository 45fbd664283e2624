import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runWithCodeCache } from "./code-cache.ts";

const seen = globalThis as { codeCacheTest?: unknown };

let directory: string;
let program: string;
let cache: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-code-"));
  program = join(directory, "program.js");
  cache = join(directory, "cache");
  mkdirSync(cache);
});

afterEach(() => {
  delete seen.codeCacheTest;
  rmSync(directory, { recursive: true, force: true });
});

/** Runs a program up to the exit of its process. Returns what it left, and whether it wanted to keep a cache. */
function run(text: string): { result: unknown; stored: boolean } {
  writeFileSync(program, text);
  let store: (() => void) | undefined;
  runWithCodeCache(program, cache, (atExit) => (store = atExit));
  store?.();
  return { result: seen.codeCacheTest, stored: store !== undefined };
}

function cacheFile(): string {
  const [name = "nothing", ...others] = readdirSync(cache);
  expect(others).toEqual([]);
  return join(cache, name);
}

const sets = (value: string): string => `globalThis.codeCacheTest = ${value};`;

it("runs a program as Node runs a CommonJS module", () => {
  const text = sets("[__filename, __dirname, require.resolve('./program.js'), module.exports === exports]");
  expect(run(text).result).toEqual([program, dirname(program), program, true]);
});

it("keeps a cache at the exit, and only if there is none that fits", () => {
  expect(run(sets("'one'"))).toEqual({ result: "one", stored: true });
  const kept = readFileSync(cacheFile());
  expect(run(sets("'one'"))).toEqual({ result: "one", stored: false });
  expect(readFileSync(cacheFile())).toEqual(kept);
  // V8 itself would take the cache of any program of the same length.
  expect(run(sets("'two'"))).toEqual({ result: "two", stored: true });
});

it("runs what is in the cache", () => {
  run(sets("'one'"));
  const data = readFileSync(cacheFile()).subarray(32);
  const other = sets("'two'");
  // Only a test gives one program the cache of another.
  writeFileSync(cacheFile(), Buffer.concat([createHash("sha256").update(other).update(data).digest(), data]));
  expect(run(other)).toEqual({ result: "one", stored: false });
});

it("neither runs nor leaves a cache that is damaged, short or empty", () => {
  run(sets("'one'"));
  const whole = readFileSync(cacheFile());
  const flipped = [0, 40, whole.length - 1].map((at) => {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    return damaged;
  });
  for (const damaged of [...flipped, ...[whole.length - 1, 32, 20, 0].map((end) => whole.subarray(0, end))]) {
    writeFileSync(cacheFile(), damaged);
    expect(run(sets("'one'"))).toEqual({ result: "one", stored: true });
    expect(run(sets("'one'"))).toEqual({ result: "one", stored: false });
  }
});

it("a cache that cannot be kept is no error", () => {
  rmSync(cache, { recursive: true });
  expect(run(sets("'one'"))).toEqual({ result: "one", stored: true });
});

it("a cache that cannot be kept, nor removed, is no error", () => {
  mkdirSync(join(cache, `${process.version}-${process.arch}-${process.pid}`));
  expect(run(sets("'one'"))).toEqual({ result: "one", stored: true });
});

it("an error names its place in the file", () => {
  writeFileSync(program, "throw new Error('first line');");
  expect(() => runWithCodeCache(program, cache)).toThrow(
    expect.objectContaining({ stack: expect.stringContaining(`${program}:1:7`) as string }),
  );
});

it("keeps a cache for each part of a program that it has loaded", () => {
  mkdirSync(join(directory, "parts"));
  for (const name of ["late", "never"])
    writeFileSync(
      join(directory, "parts", `${name}.js`),
      "module.exports = { name: require('node:path').basename(__filename) };",
    );
  const text = sets(
    `[require("./parts/late.js").name, require("./parts/late.js") === require("./parts/late.js")]`,
  );
  writeFileSync(program, text);
  const stores: (() => void)[] = [];
  const runs = (): number => {
    stores.length = 0;
    runWithCodeCache(program, cache, (store) => stores.push(store));
    expect(seen.codeCacheTest).toEqual(["late.js", true]);
    for (const store of stores) store();
    return stores.length;
  };
  expect(runs()).toBe(2);
  expect(
    readdirSync(cache)
      .map((name) => name.replace(/-v.*/, ""))
      .sort(),
  ).toEqual(["late", "program"]);
  expect(runs()).toBe(0);
});

it("lets a part that cannot be loaded fail, and be loaded later", () => {
  const text = sets(
    "(() => { try { return require('./parts/none.js'); } catch (error) { return error.code; } })()",
  );
  expect(run(text).result).toBe("ENOENT");
});
