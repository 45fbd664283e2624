import { terminalKey, type Layout, type LayoutNode, NO_LAYOUT, panesOf, type TabLayout } from "./layout.ts";

/** Of this tab of the browser: two tabs would take their terminals away from each other. */
const KEY = "exec-server-terminals-layout";
const MOST_TABS = 50;
const MOST_DEPTH = 12;

export function storeLayout(layout: Layout): void {
  sessionStorage.setItem(KEY, JSON.stringify(layout));
}

export function storedLayout(): Layout {
  try {
    return parseLayout(JSON.parse(sessionStorage.getItem(KEY) ?? "null"));
  } catch {
    return NO_LAYOUT;
  }
}

/** What a stored value describes, without what makes no sense. */
export function parseLayout(value: unknown): Layout {
  if (!isRecord(value) || !Array.isArray(value["tabs"])) return NO_LAYOUT;
  const seen = new Set<string>();
  const tabs = value["tabs"].slice(0, MOST_TABS).flatMap((tab, index) => parseTab(tab, index + 1, seen));
  const index = value["tabs"].findIndex((tab) => isRecord(tab) && tab["id"] === value["current"]);
  return { tabs, current: (tabs.find(({ id }) => id === index + 1) ?? tabs[0])?.id };
}

function parseTab(value: unknown, id: number, seen: Set<string>): readonly TabLayout[] {
  if (!isRecord(value)) return [];
  const root = parseNode(value["root"], seen, MOST_DEPTH);
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
    const given = value["share"];
    const share = typeof given === "number" && given > 0 && given < 1 ? given : 0.5;
    return {
      kind: "split",
      direction: value["direction"] === "down" ? "down" : "right",
      share,
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
