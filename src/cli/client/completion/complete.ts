import type { Command } from "commander";
import { readHosts } from "../target/hosts/hosts-file.ts";
import { print } from "../print/output.ts";
import { printable } from "../print/printable.ts";
import { completionFor, type Lookups } from "./candidates.ts";
import { completePath, isPlainLabel, isPlainName } from "./complete-path.ts";
import { ServerWords } from "./server-words.ts";

/** Somebody waits with a finger on the Tab key. */
const DEADLINE_MS = 800;

/**
 * Prints what can complete the last word, one candidate on each line, with its description after a tab; `:files` asks
 * the shell for names of files. Whatever fails, there is nothing to complete: an error would end up in the line that is
 * being typed.
 */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), DEADLINE_MS));
  try {
    const found = await Promise.race([completionFor(program, words, lookups()), late]);
    const lines = (found?.candidates ?? []).map(
      ({ word, description = "" }) => `${printable(word)}\t${printable(description)}\n`,
    );
    await print(`${lines.join("")}${found?.files === true ? ":files\n" : ""}`);
  } catch {
    // Nothing to complete.
  }
  process.exit(0);
}

function lookups(): Lookups {
  const words = new ServerWords(DEADLINE_MS);
  return {
    hosts,
    fleets,
    labels: async (fleet) => (await words.labels(fleet)).filter(isPlainLabel),
    executors: async (fleet) => (await words.executors(fleet)).filter(isPlainName),
    kept: async (options) => (await words.kept(options)).filter((name) => name.split("/").every(isPlainName)),
    isHere: (options) => words.isHere(options),
    paths: (typed, options) => completePath(typed, (directory) => words.list(directory, options)),
  };
}

function hosts(): readonly string[] {
  try {
    return ["local", ...readHosts().hosts.map(({ id }) => id)].filter(isPlainName);
  } catch {
    return [];
  }
}

function fleets(): readonly string[] {
  try {
    return [...readHosts().fleets.keys()].filter(isPlainName);
  } catch {
    return [];
  }
}
