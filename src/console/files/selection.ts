/** The selection in a list of names: the keyboard's row, and further ones. */
export interface Selection {
  /** Row of the keyboard focus. */
  readonly current: string | undefined;
  /** Start of a range. */
  readonly anchor: string | undefined;
  /** Everything that is selected; the current one is not always among it. */
  readonly names: ReadonlySet<string>;
}

export const NOTHING: Selection = { current: undefined, anchor: undefined, names: new Set() };

/** Selects one and nothing else. */
export function selectOnly(name: string): Selection {
  return { current: name, anchor: name, names: new Set([name]) };
}

/** Adds one, or takes it away. */
export function toggle(selection: Selection, name: string): Selection {
  const names = new Set(selection.names);
  if (!names.delete(name)) names.add(name);
  return { current: name, anchor: name, names };
}

/** Selects everything from the anchor to a name. */
export function selectRange(selection: Selection, name: string, order: readonly string[]): Selection {
  const to = order.indexOf(name);
  const anchor = selection.anchor === undefined ? -1 : order.indexOf(selection.anchor);
  if (anchor < 0 || to < 0) return selectOnly(name);
  const names = order.slice(Math.min(anchor, to), Math.max(anchor, to) + 1);
  return { current: name, anchor: selection.anchor, names: new Set(names) };
}

export function selectAll(selection: Selection, order: readonly string[]): Selection {
  return { ...selection, names: new Set(order) };
}

/** Keeps the selected entries that still exist. If the current one is gone, its neighbour replaces it. */
export function keepListed(
  selection: Selection,
  before: readonly string[],
  now: readonly string[],
): Selection {
  const listed = new Set(now);
  const { current, anchor } = selection;
  if (current === undefined || now.length === 0) return current === undefined ? selection : NOTHING;
  const names = new Set([...selection.names].filter((name) => listed.has(name)));
  if (listed.has(current)) {
    const isSame = names.size === selection.names.size;
    return isSame ? selection : { current, anchor, names };
  }
  const neighbour = now[Math.min(Math.max(0, before.indexOf(current)), now.length - 1)]!;
  return names.size === 0 ? selectOnly(neighbour) : { current: neighbour, anchor: neighbour, names };
}
