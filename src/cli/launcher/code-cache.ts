// Does for Node 20 what Node itself does from 22.1 on.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";

const DIGEST_BYTES = 32;
/** Node's wrapper of every CommonJS module. */
const WRAPPER = "(function (exports, require, module, __filename, __dirname) { ";

type Wrapped = (
  exports: object,
  require: NodeJS.Require,
  module: { exports: object },
  filename: string,
  dirname: string,
) => void;

/** The parts of a program that it loads late, which load nothing but modules of Node. */
const PART = /^\.\/parts\/[\w-]+\.js$/;

/**
 * Runs a CommonJS program of ASCII text, and its parts, with V8's code cache, and returns its exports. Without a valid
 * cache, it writes one when the process exits.
 */
export function runWithCodeCache(
  program: string,
  directory: string,
  atExit = (store: () => void): unknown => process.once("exit", store),
): object {
  const text = readFileSync(program);
  const file = join(directory, `${basename(program, ".js")}-${process.version}-${process.arch}`);
  const cachedData = readCache(file, text);
  const script = new Script(`${WRAPPER}${text.toString("latin1")}\n})`, {
    filename: program,
    columnOffset: -WRAPPER.length,
    ...(cachedData && { cachedData }),
  });
  // By then the functions that a server uses are compiled, and become part of the cache.
  if (script.cachedDataRejected !== false) atExit(() => storeCache(file, text, script.createCachedData()));
  const module = { exports: {} };
  const run = script.runInThisContext() as Wrapped;
  const load = createRequire(program);
  const parts = new Map<string, object>();
  const require = Object.assign((id: string): unknown => {
    if (!PART.test(id)) return load(id);
    const part = parts.get(id) ?? runWithCodeCache(join(dirname(program), id), directory, atExit);
    parts.set(id, part);
    return part;
  }, load);
  run(module.exports, require, module, program, dirname(program));
  return module.exports;
}

/** V8 checks only the length of the program, and would run a damaged cache. The digest verifies both. */
function readCache(file: string, text: Buffer): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const data = bytes.subarray(DIGEST_BYTES);
    return digestOf(text, data).equals(bytes.subarray(0, DIGEST_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** A failure to write the cache is not an error: the next server only starts more slowly. */
function storeCache(file: string, text: Buffer, data: Buffer): void {
  const unfinished = `${file}-${process.pid}`;
  try {
    writeFileSync(unfinished, Buffer.concat([digestOf(text, data), data]), { mode: 0o600, flag: "wx" });
    renameSync(unfinished, file);
  } catch {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function digestOf(text: Buffer, data: Buffer): Buffer {
  return createHash("sha256").update(text).update(data).digest();
}
