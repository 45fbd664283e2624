/** What of a machine is opened in a tab of its own. */
export interface MachineAddress {
  readonly id: string;
  readonly view: "console" | "terminals";
}

const LETTERS = { console: "p", terminals: "t" } as const;

/** The address that leads to the page of a machine. */
export function addressOf({ id, view }: MachineAddress): string {
  return `/${LETTERS[view]}/${encodeURIComponent(id)}`;
}

/** Undefined for the address of the fleet itself. */
export function machineAt(path: string): MachineAddress | undefined {
  const [, letter, id] = /^\/([pt])\/([^/]+)$/.exec(path) ?? [];
  if (id === undefined) return undefined;
  try {
    return { id: decodeURIComponent(id), view: letter === "t" ? "terminals" : "console" };
  } catch {
    return undefined;
  }
}

/** The link of a machine's page, to one of its views. */
export function linkTo(link: string, view: MachineAddress["view"]): string {
  const url = new URL(link);
  if (view === "terminals") url.pathname = "/t";
  return url.href;
}
