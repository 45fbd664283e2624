import { NEW_TERMINAL } from "../terminals/addresses.ts";

/** The part of a machine's console that opens in a new tab. */
export interface MachineAddress {
  readonly id: string;
  readonly view: "console" | "terminal";
}

const LETTERS = { console: "p", terminal: "t" } as const;

/** The address that leads to the page of a machine. */
export function addressOf({ id, view }: MachineAddress): string {
  return `/${LETTERS[view]}/${encodeURIComponent(id)}`;
}

/** Undefined for the address of the fleet itself. */
export function machineAt(path: string): MachineAddress | undefined {
  const [, letter, id] = /^\/([pt])\/([^/]+)$/.exec(path) ?? [];
  if (id === undefined) return undefined;
  try {
    return { id: decodeURIComponent(id), view: letter === "t" ? "terminal" : "console" };
  } catch {
    return undefined;
  }
}

/** The link of a machine's page, to one of its views. */
export function linkTo(link: string, view: MachineAddress["view"]): string {
  const url = new URL(link);
  if (view === "terminal") url.pathname = NEW_TERMINAL;
  return url.href;
}
