import { readStored } from "../frame/read-stored.ts";
import { terminalKey, type Layout, type LayoutNode, NO_LAYOUT, panesOf, type TabLayout } from "./layout.ts";

/** Stored per browser tab: two tabs would take each other's terminals. */
const KEY = "exec-server-terminals-layout";
const MAX_TABS = 50;
const MAX_DEPTH = 12;

export function storeLayout(layout: Layout): void {
  sessionStorage.setItem(KEY, JSON.stringify(layout));
}

export function storedLayout(): Layout {
  return parseLayout(readStored(sessionStorage, KEY));
}

/** The layout that a stored value describes, without its invalid parts. */
export function parseLayout(value: unknown): Layout {
  if (!isRecord(value) || !Array.isArray(value["tabs"])) return NO_LAYOUT;
  const seen = new Set<string>();
  const tabs = value["tabs"].slice(0, MAX_TABS).flatMap((tab, index) => parseTab(tab, index + 1, seen));
  const index = value["tabs"].findIndex((tab) => isRecord(tab) && tab["id"] === value["current"]);
  return { tabs, current: (tabs.find(({ id }) => id === index + 1) ?? tabs[0])?.id };
}

function parseTab(value: unknown, id: number, seen: Set<string>): readonly TabLayout[] {
  if (!isRecord(value)) return [];
  const root = parseNode(value["root"], seen, MAX_DEPTH);
  if (root === undefined) return [];
  const keys = panesOf(root).map((pane) => terminalKey(pane));
  const focus = keys.find((key) => key === value["focus"]) ?? keys[0]!;
  const title = typeof value["title"] === "string" ? { title: value["title"].slice(0, 200) } : {};
  return [{ id, root, focus, ...title }];
}

function parseNode(value: unknown, seen: Set<string>, depth: number): LayoutNode | undefined {
  if (!isRecord(value) || depth === 0) return undefined;
  if (value["kind"] === "split") {
    const first = parseNode(value["first"], seen, depth - 1);
    const second = parseNode(value["second"], seen, depth - 1);
    if (first === undefined || second === undefined) return first ?? second;
    const { share } = value;
    return {
      kind: "split",
      direction: value["direction"] === "down" ? "down" : "right",
      share: typeof share === "number" && share > 0 && share < 1 ? share : 0.5,
      first,
      second,
    };
  }
  const { name, owner } = value;
  if (value["kind"] !== "pane" || typeof name !== "string" || name === "") return undefined;
  const pane = {
    kind: "pane" as const,
    name,
    ...(typeof owner === "string" ? { owner } : {}),
    mode: value["mode"] === "follow" ? ("follow" as const) : ("control" as const),
  };
  if (seen.has(terminalKey(pane))) return undefined;
  seen.add(terminalKey(pane));
  return pane;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
