import { ExecError, type Host } from "../../client/browser.ts";
import { refreshTerminals } from "./kept-terminals.ts";
import type { GridSize } from "./terminal-session.ts";

/** What runs in a terminal. */
export interface TerminalCommand {
  readonly argv: readonly string[];
  /** Absolute. Default: the home of the server's user. */
  readonly cwd?: string | undefined;
}

/** What xterm.js understands. */
const VARIABLES = { TERM: "xterm-256color", COLORTERM: "truecolor" };
const MOST_NAMES = 1000;

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
  const cwd = command.cwd ?? homeOf(host);
  const started = await host.terminal(command.argv, {
    ...(cwd === undefined ? {} : { cwd }),
    env: VARIABLES,
    keep: { name, replace },
    ...(size === undefined ? {} : { cols: size.cols, rows: size.rows }),
    // What a shell leaves in the background does not hold its terminal.
    ...(host.supports("process/start.closeOnExit") ? { closeOnExit: true } : {}),
  });
  // Whoever shows it attaches. A second attachment would count among those who share the window.
  await started.detach();
}

/** Starts a terminal under the first free name, and returns the name. */
export async function startNamed(host: Host, command: TerminalCommand, size?: GridSize): Promise<string> {
  const taken = new Set((await host.processes({ scope: "kept" })).map(({ name }) => name));
  for (let number = 1; number <= MOST_NAMES; number += 1) {
    const name = `shell-${number}`;
    if (taken.has(name)) continue;
    try {
      await startTerminal(host, name, command, { size });
      void refreshTerminals(host).catch(() => {});
      return name;
    } catch (error) {
      // Somebody was faster.
      if (!(error instanceof ExecError && error.code === "ALREADY_EXISTS")) throw error;
    }
  }
  throw new ExecError("LIMIT_REACHED", "there are too many terminals");
}

/** Starts again what ran under a name, or a shell if that is not known any more. */
export async function startAgain(
  host: Host,
  name: string,
  last: TerminalCommand | undefined,
  size: GridSize,
): Promise<void> {
  await startTerminal(host, name, last ?? loginShell(host), { size, replace: true });
}

function homeOf({ environment }: Host): string | undefined {
  const uri = environment?.userHomeDir;
  if (typeof uri !== "string") return undefined;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return undefined;
  }
}
