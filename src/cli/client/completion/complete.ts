import type { Command } from "commander";
import { socketUrl } from "../../../base/socket-url.ts";
import { connect } from "../../../client/connect/connect.ts";
import { readHosts } from "../hosts/hosts-file.ts";
import { print } from "../print/output.ts";
import { printable } from "../print/printable.ts";
import { findOwnPlace } from "../target/own-server/place.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { completionFor } from "./candidates.ts";

/** Somebody waits with a finger on the Tab key. */
const DEADLINE_MS = 1_500;

/**
 * Prints what can complete the last word, one candidate on each line, with its description after a tab; `:files` asks
 * the shell for names of files. Whatever fails, there is nothing to complete: an error would end up in the line that is
 * being typed.
 */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), DEADLINE_MS));
  try {
    const found = await Promise.race([completionFor(program, words, { hosts, kept }), late]);
    const lines = (found?.candidates ?? []).map(
      ({ word, description = "" }) => `${printable(word)}\t${printable(description)}\n`,
    );
    await print(`${lines.join("")}${found?.files === true ? ":files\n" : ""}`);
  } catch {
    // Nothing to complete.
  }
  process.exit(0);
}

/** A shell inserts candidates as they are: what it could take for something else than a word is not offered. */
function isPlain(word: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.@-]*$/.test(word);
}

function hosts(): readonly string[] {
  try {
    return ["local", ...readHosts().hosts.map(({ id }) => id)].filter(isPlain);
  } catch {
    return [];
  }
}

/** Only from a server that runs: a program such as ssh could ask questions, and would take too long. */
async function kept(options: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const target = await resolveTarget(options);
  if (target.kind === "program") return [];
  const own = target.kind === "own" ? findOwnPlace() : undefined;
  if (own?.exists === false) return [];
  const { url, ...more } = target.kind === "url" ? target : { url: socketUrl(own!.socket) };
  const host = await connect(url, {
    clientName: "exec-server-cli",
    ...("token" in more ? { token: more.token } : {}),
    connectTimeoutMs: DEADLINE_MS,
    initializeTimeoutMs: DEADLINE_MS,
  });
  return (await host.processes({ scope: "kept" })).map(({ name = "" }) => name).filter(isPlain);
}
