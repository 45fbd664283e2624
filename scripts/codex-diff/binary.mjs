// What two releases of the real server say about themselves: flags, and the words in their binaries.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const COMMANDS = [["exec-server"], ["exec-server", "forward"], ["exec"]];
/** Strings of one part of the program lie together, with the names of its source files. */
const OF_EXEC_SERVER = /exec-server\/src\/|codex_exec_server/;
/** Names of what the exec-server sends, receives and reads. */
const SHAPE =
  /^(Exec|Fs|Http|Environment|Initialize|Process|Read|Write|Signal|Network|Remote|Capabilit|Discover|FileSystem|Sandbox|Noise|Credential|Direct|JSONRPC)/;
/** Strings have no end in a binary, and their order changes: so many words at a time are compared. */
const WORDS = 5;
/** The last word of one string and the first of the next look like a word that nothing else has. */
const COMMON = 3;
const WORD = /^[`'"({<]{0,3}[A-Za-z'{}-]{1,18}[`'")}>,.:;?]{0,3}$/;

/** The lines of help of every command. */
export function helpOf(binary) {
  // Not under the system's temporary directory, of which it warns.
  const home = mkdtempSync("/var/tmp/codex-diff-");
  try {
    return COMMANDS.flatMap((command) => {
      const text = execFileSync(binary, [...command, "--help"], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: join(home, ".codex") },
        stdio: ["ignore", "pipe", "ignore"],
      });
      return text
        .split("\n")
        .flatMap((line) => (line.trim() === "" ? [] : [`${command.join(" ")}: ${line.trim()}`]));
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * @param {string} binary
 * @returns {{ shapes: Map<string, string>, variables: Set<string>, phrases: Set<string> }}
 */
export function wordsOf(binary) {
  const text = readFileSync(binary, "latin1");
  const shapes = new Map();
  for (const [, name, count] of text.matchAll(
    /struct (?:variant )?([\w:]{1,80}) with (\d{1,3}) elements?/g,
  )) {
    if (!SHAPE.test(name)) continue;
    const known = shapes.get(name);
    if (known !== count) shapes.set(name, known === undefined ? count : `${known}, ${count}`);
  }
  const variables = new Set([...text.matchAll(/\bCODEX_[A-Z][A-Z_]{2,60}/g)].map(([name]) => name));
  const runs = [...text.matchAll(/[\x20-\x7e]{20,}/g)].map(([run]) => run.split(" "));
  const counts = new Map();
  for (const word of runs.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const phrases = new Set();
  for (const words of runs) {
    if (!words.some((word) => OF_EXEC_SERVER.test(word))) continue;
    for (let at = 0; at + WORDS <= words.length; at += 1) {
      const some = words.slice(at, at + WORDS);
      if (some.every((word) => WORD.test(word) && counts.get(word) >= COMMON)) phrases.add(some.join(" "));
    }
  }
  return { shapes, variables, phrases };
}
