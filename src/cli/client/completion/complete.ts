import type { Command } from "commander";
import { print } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";
import { completionFor } from "./candidates.ts";
import { DEADLINE_MS } from "./known-words.ts";

/**
 * Prints completions of the last word, one candidate on each line, with its description after a tab; `:files` asks the
 * shell for file names. After any failure there is nothing to complete: an error would end up in the line being typed.
 */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), DEADLINE_MS));
  try {
    const completion = await Promise.race([completionFor(program, words), late]);
    const lines = (completion?.candidates ?? []).map(
      ({ word, description = "" }) => `${printable(word)}\t${printable(description)}\n`,
    );
    await print(`${lines.join("")}${completion?.files === true ? ":files\n" : ""}`);
  } catch {
    // Nothing to complete.
  }
  process.exit(0);
}
