import type { TerminalAddress, TerminalMode } from "./terminal-session.ts";

/** A terminal that is shown somewhere. */
export interface PaneLayout extends TerminalAddress {
  readonly kind: "pane";
  readonly mode: TerminalMode;
}

/** Two parts beside each other, or one above the other. */
export interface SplitLayout {
  readonly kind: "split";
  readonly direction: "right" | "down";
  /** The part of the first, between 0 and 1. */
  readonly share: number;
  readonly first: LayoutNode;
  readonly second: LayoutNode;
}

export type LayoutNode = PaneLayout | SplitLayout;

export interface TabLayout {
  readonly id: number;
  /** Set by the user. Default: the title of the focused terminal. */
  readonly title?: string | undefined;
  readonly root: LayoutNode;
  /** The pane that has the keyboard. */
  readonly focus: string;
}

/** Tabs with panes. A terminal is in at most one place. */
export interface Layout {
  readonly tabs: readonly TabLayout[];
  /** Id of the tab that is shown. */
  readonly current: number | undefined;
}

export const NO_LAYOUT: Layout = { tabs: [], current: undefined };

const MIN_SHARE = 0.1;

/** Identifies a terminal: different owners may use the same names. */
export function terminalKey({ owner, name }: TerminalAddress): string {
  return owner === undefined ? name : `${owner}/${name}`;
}

export function panesOf(node: LayoutNode): readonly PaneLayout[] {
  return node.kind === "pane" ? [node] : [...panesOf(node.first), ...panesOf(node.second)];
}

export function currentTab({ tabs, current }: Layout): TabLayout | undefined {
  return tabs.find(({ id }) => id === current);
}

export function focusedPane(layout: Layout): PaneLayout | undefined {
  const tab = currentTab(layout);
  return tab && panesOf(tab.root).find((pane) => terminalKey(pane) === tab.focus);
}

/** The tab that shows a terminal. */
function tabOf(layout: Layout, key: string): TabLayout | undefined {
  return layout.tabs.find(({ root }) => panesOf(root).some((pane) => terminalKey(pane) === key));
}

/** Shows a terminal, in a new tab unless it is somewhere already. */
export function show(layout: Layout, pane: PaneLayout): Layout {
  const key = terminalKey(pane);
  if (tabOf(layout, key) !== undefined) return focus(changePane(layout, key, pane), key);
  const id = Math.max(0, ...layout.tabs.map((tab) => tab.id)) + 1;
  return { tabs: [...layout.tabs, { id, root: pane, focus: key }], current: id };
}

/** Gives a pane the keyboard, and shows its tab. */
export function focus(layout: Layout, key: string): Layout {
  const tab = tabOf(layout, key);
  if (tab === undefined || (layout.current === tab.id && tab.focus === key)) return layout;
  return { ...changeTab(layout, tab.id, (old) => ({ ...old, focus: key })), current: tab.id };
}

export function selectTab(layout: Layout, id: number): Layout {
  return layout.tabs.some((tab) => tab.id === id) ? { ...layout, current: id } : layout;
}

/** The tab that is `steps` further, around the end. */
export function neighbourTab({ tabs, current }: Layout, steps: number): number | undefined {
  const index = tabs.findIndex(({ id }) => id === current);
  return index < 0 ? undefined : tabs.at((index + steps) % tabs.length)!.id;
}

export function renameTab(layout: Layout, id: number, title: string | undefined): Layout {
  return changeTab(layout, id, (tab) => ({ ...tab, title }));
}

/** Shows another terminal beside or below one. */
export function split(
  layout: Layout,
  key: string,
  { direction, pane }: { readonly direction: SplitLayout["direction"]; readonly pane: PaneLayout },
): Layout {
  const tab = tabOf(layout, key);
  if (tab === undefined || tabOf(layout, terminalKey(pane)) !== undefined) return show(layout, pane);
  const added = changeTab(layout, tab.id, (old) => ({
    ...old,
    root: mapPane(old.root, key, (first) => ({ kind: "split", direction, share: 0.5, first, second: pane })),
  }));
  return focus(added, terminalKey(pane));
}

/** Another mode or name for a pane, where it is. */
export function changePane(layout: Layout, key: string, pane: PaneLayout): Layout {
  const tab = tabOf(layout, key);
  if (tab === undefined) return layout;
  return changeTab(layout, tab.id, (old) => ({
    ...old,
    root: mapPane(old.root, key, () => pane),
    focus: old.focus === key ? terminalKey(pane) : old.focus,
  }));
}

/** Takes a pane away. Its neighbour gets the room; the last one takes its tab with it. */
export function closePane(layout: Layout, key: string): Layout {
  const tab = tabOf(layout, key);
  if (tab === undefined) return layout;
  const root = without(tab.root, key);
  if (root !== undefined)
    return changeTab(layout, tab.id, (old) => ({
      ...old,
      root,
      focus: old.focus === key ? terminalKey(panesOf(root)[0]!) : old.focus,
    }));
  const index = layout.tabs.indexOf(tab);
  const tabs = layout.tabs.filter((other) => other !== tab);
  const neighbour = tabs[Math.min(index, tabs.length - 1)]?.id;
  return { tabs, current: layout.current === tab.id ? neighbour : layout.current };
}

/** Moves the border between two parts of a tab. `path` says which: the first or second part of each split on the way. */
export function moveBorder(layout: Layout, id: number, path: readonly Side[], share: number): Layout {
  const bounded = Math.min(1 - MIN_SHARE, Math.max(MIN_SHARE, share));
  return changeTab(layout, id, (tab) => ({ ...tab, root: withShare(tab.root, path, bounded) }));
}

export type Side = "first" | "second";

function withShare(node: LayoutNode, [side, ...rest]: readonly Side[], share: number): LayoutNode {
  if (node.kind === "pane") return node;
  if (side === undefined) return { ...node, share };
  return { ...node, [side]: withShare(node[side], rest, share) };
}

function changeTab(layout: Layout, id: number, change: (tab: TabLayout) => TabLayout): Layout {
  return { ...layout, tabs: layout.tabs.map((tab) => (tab.id === id ? change(tab) : tab)) };
}

function mapPane(node: LayoutNode, key: string, change: (pane: PaneLayout) => LayoutNode): LayoutNode {
  if (node.kind === "pane") return terminalKey(node) === key ? change(node) : node;
  return { ...node, first: mapPane(node.first, key, change), second: mapPane(node.second, key, change) };
}

function without(node: LayoutNode, key: string): LayoutNode | undefined {
  if (node.kind === "pane") return terminalKey(node) === key ? undefined : node;
  const first = without(node.first, key);
  const second = without(node.second, key);
  if (first === undefined || second === undefined) return first ?? second;
  return { ...node, first, second };
}
