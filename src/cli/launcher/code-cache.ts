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

/**
 * Runs a CommonJS program of ASCII text with V8's code cache. Without a valid cache, it writes one when the process
 * exits.
 */
export function runWithCodeCache(
  program: string,
  directory: string,
  atExit = (store: () => void): unknown => process.once("exit", store),
): void {
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
  run(module.exports, createRequire(program), module, program, dirname(program));
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
