// dist/cli.js: runs the server's or the client's program beside it, with a cache of its compiled code if one can be kept.
import * as nodeModule from "node:module";
import { join } from "node:path";
import { isatty } from "node:tty";
import { openCacheDirectory } from "./cache-directory.ts";
import { chooseProgram } from "./choose-program.ts";
import { runWithCodeCache } from "./code-cache.ts";

/** Since Node 22.1. */
const { enableCompileCache } = nodeModule as { enableCompileCache?: (directory: string) => unknown };

/** The cache of such a run would lack what others need. */
const SHORT_RUNS = new Set(["--help", "-h", "--version", "-V", "help"]);

const isTerminal = isatty(0) && isatty(1);
const program = join(import.meta.dirname, chooseProgram(process.argv.slice(2), isTerminal));
const isShort = process.argv.some((argument) => SHORT_RUNS.has(argument));
const directory = isShort ? undefined : openCacheDirectory(join(import.meta.dirname, "cache"));

if (directory !== undefined && enableCompileCache === undefined) {
  runWithCodeCache(program, directory);
} else {
  if (directory !== undefined) enableCompileCache?.(directory);
  nodeModule.createRequire(program)(program);
}
