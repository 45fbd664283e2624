// The beginning of dist/cli.js. The build appends the program behind it, as a comment.
import { readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";
import { CodeCache, describeRuntime } from "./code-cache.ts";
import { extractProgram } from "./program-text.ts";

/** A new server has better things to do; afterwards its usual functions are compiled, and so become part of the cache. */
const STORE_DELAY_MS = 2_000;

/** The build makes it so: `import.meta.url` becomes the path, which serves as well where it is used. */
type Program = (require: NodeJS.Require, path: string) => void;

/** Node's own, in a CommonJS module. */
declare const moduleRequire: NodeJS.Require | undefined;

function launch(file: string): void {
  const { bytes, line } = extractProgram(readFileSync(file));
  const cache = new CodeCache({
    program: file,
    text: bytes,
    runtime: describeRuntime(process.execArgv, process.env["NODE_OPTIONS"]),
    environment: mayConfineClients(process.argv) ? {} : process.env,
  });
  const text = bytes.toString("latin1");
  const compile = (cachedData?: Buffer): Script =>
    new Script(text, { filename: file, lineOffset: line, ...(cachedData && { cachedData }) });
  const script = compileFrom(cache, compile) ?? compile();
  if (script.cachedDataRejected !== false)
    setTimeout(() => void cache.store(script.createCachedData()), STORE_DELAY_MS).unref();
  const program = script.runInThisContext() as Program;
  program(moduleRequire ?? createRequire(file), file);
}

/**
 * A server that confines its clients to directories, by a flag or in a configuration file, does without the user's cache: that may lie in one of them, and what
 * is in it is run.
 */
function mayConfineClients(args: readonly string[]): boolean {
  return args.some((arg) => /^--(?:config|fs-roots)(?:=|$)/.test(arg));
}

function compileFrom(cache: CodeCache, compile: (cachedData: Buffer) => Script): Script | undefined {
  let script: Script | undefined;
  for (const cachedData of cache.find()) {
    script = compile(cachedData);
    if (script.cachedDataRejected === false) break;
  }
  return script;
}

// Node takes the file for a CommonJS module or, below a package.json that says so, for an ES module, which does not know its name by this.
launch(typeof __filename === "string" ? __filename : realpathSync(process.argv[1] ?? ""));
