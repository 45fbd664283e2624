import { effect } from "@preact/signals";
import { ExecError, type Host } from "../../client/browser.ts";
import { pathFromUri } from "../frame/paths.ts";
import { readStored } from "../frame/read-stored.ts";
import { keptTerminals, refreshTerminals } from "./kept-terminals.ts";
import { terminalKey } from "./layout.ts";
import type { GridSize, TerminalAddress } from "./terminal-session.ts";

/** The command of a terminal. */
export interface TerminalCommand {
  readonly argv: readonly string[];
  /** Absolute. Default: the home of the server's user. */
  readonly cwd?: string | undefined;
}

/** Capabilities of xterm.js. */
const VARIABLES = { TERM: "xterm-256color", COLORTERM: "truecolor" };
const MAX_NAMES = 1000;

/** The login shell of the server's user. */
export function loginShell({ environment }: Host): TerminalCommand {
  return { argv: [environment?.shell?.path ?? "/bin/sh", "-l"] };
}

/** Starts a terminal that stays when the page is closed. `replace` takes the place of one that has ended. */
export async function startTerminal(
  host: Host,
  name: string,
  command: TerminalCommand,
  { size, replace = false }: { readonly size?: GridSize | undefined; readonly replace?: boolean } = {},
): Promise<void> {
  const cwd = command.cwd ?? pathFromUri(host.environment?.userHomeDir);
  const started = await host.terminal(command.argv, {
    ...(cwd === undefined ? {} : { cwd }),
    env: VARIABLES,
    keep: { name, replace },
    ...(size === undefined ? {} : { cols: size.cols, rows: size.rows }),
    // Background processes of a shell do not keep its terminal open.
    ...(host.supports("process/start.closeOnExit") ? { closeOnExit: true } : {}),
  });
  // The pane attaches. A second attachment would count among those who share the window.
  await started.detach();
}

/** Starts a terminal under the first free name, and returns the name. */
export async function startNamed(host: Host, command: TerminalCommand, size?: GridSize): Promise<string> {
  const taken = new Set((await host.processes({ scope: "kept" })).map(({ name }) => name));
  for (let number = 1; number <= MAX_NAMES; number += 1) {
    const name = `shell-${number}`;
    if (taken.has(name)) continue;
    try {
      await startTerminal(host, name, command, { size });
      void refreshTerminals(host).catch(() => {});
      return name;
    } catch (error) {
      // Another client took the name first.
      if (!(error instanceof ExecError && error.code === "ALREADY_EXISTS")) throw error;
    }
  }
  throw new ExecError("LIMIT_REACHED", "there are too many terminals");
}

/** The terminals' commands, so that they can be started again when the server has forgotten them. */
const KEY = "exec-server-terminal-commands";
const MAX_COMMANDS = 100;

const lastCommands = new Map(readStored(sessionStorage, KEY) as [string, TerminalCommand][] | undefined);

effect(() => {
  const list = keptTerminals.value;
  if (list === undefined) return;
  for (const { name, argv, cwd } of list.terminals) {
    if (name === undefined) continue;
    lastCommands.delete(name);
    lastCommands.set(name, { argv, cwd: pathFromUri(cwd) });
  }
  sessionStorage.setItem(KEY, JSON.stringify([...lastCommands].slice(-MAX_COMMANDS)));
});

/** Starts again what ran in a terminal, or a shell if that is not known any more. */
export async function startAgain(host: Host, pane: TerminalAddress, size: GridSize): Promise<void> {
  const command = lastCommands.get(terminalKey(pane)) ?? loginShell(host);
  await startTerminal(host, pane.name, command, { size, replace: true });
}
