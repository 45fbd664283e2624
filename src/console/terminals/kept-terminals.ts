import { signal } from "@preact/signals";
import type { Host, ListedProcess } from "../../client/browser.ts";
import { serverLink } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { usePolled } from "../ui/use-polled.ts";
import type { TerminalAddress } from "./terminal-session.ts";

const EVERY_MS = 2000;

/** A list of kept terminals, and the time of its request. */
export interface ListedTerminals {
  readonly terminals: readonly ListedProcess[];
  readonly askedMs: number;
}

/** The kept terminals of the server, current while a view shows them. */
export const keptTerminals = signal<ListedTerminals | undefined>(undefined);

/** Keeps the list current for as long as the component is shown. */
export function useKeptTerminals(): void {
  const host = useHost();
  const refresh = async (): Promise<void> => {
    // The banner reports the connection; a server without the list has no numbers to show.
    if (serverLink.isConnected.value) await refreshTerminals(host);
  };
  usePolled(refresh, { everyMs: EVERY_MS, deps: [host] });
}

/** Refreshes the list now. */
export async function refreshTerminals(host: Host): Promise<readonly ListedProcess[]> {
  const askedMs = performance.now();
  const listed = await host.processes({ scope: "kept" });
  const terminals = listed.filter(({ tty }) => tty);
  keptTerminals.value = { terminals, askedMs };
  return terminals;
}

/** The listed process of an address. */
export function findTerminal({ name, owner }: TerminalAddress): ListedProcess | undefined {
  return keptTerminals.value?.terminals.find(
    (listed) => listed.name === name && (owner === undefined || listed.owner === owner),
  );
}
