import { effect } from "@preact/signals";
import { keptTerminals } from "./kept-terminals.ts";
import type { TerminalCommand } from "./start-terminal.ts";

/** What terminals ran, so that they can be started again when the server has forgotten them. */
const KEY = "exec-server-terminal-commands";
const MOST = 100;

const commands = new Map<string, TerminalCommand>(stored());

effect(() => {
  const list = keptTerminals.value;
  if (list === undefined) return;
  for (const { name, argv, cwd } of list.terminals) {
    if (name === undefined) continue;
    commands.delete(name);
    commands.set(name, { argv, cwd: pathOfUri(cwd) });
  }
  const kept = [...commands].slice(-MOST);
  sessionStorage.setItem(KEY, JSON.stringify(kept));
});

/** What last ran under a name, as far as this page has seen it. */
export function lastCommand(name: string): TerminalCommand | undefined {
  return commands.get(name);
}

function pathOfUri(uri: string): string | undefined {
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return undefined;
  }
}

function stored(): [string, TerminalCommand][] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as [string, TerminalCommand][];
  } catch {
    return [];
  }
}
