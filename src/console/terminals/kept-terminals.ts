import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Host, ListedProcess } from "../../client/browser.ts";
import { serverLink } from "../connection/server-link.ts";
import type { TerminalAddress } from "./terminal-session.ts";

const EVERY_MS = 2000;

/** A list of kept terminals, and when it was asked for. */
export interface ListedTerminals {
  readonly terminals: readonly ListedProcess[];
  readonly askedMs: number;
}

/** The kept terminals of the server, as far as somebody shows them. */
export const keptTerminals = signal<ListedTerminals | undefined>(undefined);

let watchers = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Keeps the list current for as long as the component is shown. */
export function useKeptTerminals(): void {
  useEffect(() => {
    watchers += 1;
    if (watchers === 1) void poll();
    return () => {
      watchers -= 1;
      if (watchers === 0) clearTimeout(timer);
    };
  }, []);
}

/** Asks for the list now. */
export async function refreshTerminals(host: Host): Promise<readonly ListedProcess[]> {
  const askedMs = performance.now();
  const listed = await host.processes({ scope: "kept" });
  const terminals = listed.filter(({ tty }) => tty);
  keptTerminals.value = { terminals, askedMs };
  return terminals;
}

async function poll(): Promise<void> {
  const host = serverLink.host.value;
  // A page that nobody sees needs no news.
  if (host !== undefined && serverLink.isConnected.value && !document.hidden)
    await refreshTerminals(host).catch(() => {
      // The banner reports the connection; a server without the list has no numbers to show.
    });
  clearTimeout(timer);
  if (watchers > 0) timer = setTimeout(() => void poll(), EVERY_MS);
}

/** The listed process of an address. */
export function findTerminal(
  { terminals }: ListedTerminals,
  { name, owner }: TerminalAddress,
): ListedProcess | undefined {
  return terminals.find((listed) => listed.name === name && (owner === undefined || listed.owner === owner));
}
