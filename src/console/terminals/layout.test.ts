import { expect, test } from "vitest";
import {
  changePane,
  closePane,
  currentTab,
  focus,
  focusedPane,
  terminalKey,
  type Layout,
  moveBorder,
  neighbourTab,
  NO_LAYOUT,
  type PaneLayout,
  panesOf,
  renameTab,
  selectTab,
  show,
  split,
} from "./layout.ts";
import { parseLayout } from "./stored-layout.ts";

function pane(name: string, mode: PaneLayout["mode"] = "control"): PaneLayout {
  return { kind: "pane", name, mode };
}

function names(layout: Layout): string[][] {
  return layout.tabs.map(({ root }) => panesOf(root).map((each) => terminalKey(each)));
}

const TWO = show(show(NO_LAYOUT, pane("a")), pane("b"));

test("a terminal is shown in a new tab, once", () => {
  expect(names(TWO)).toEqual([["a"], ["b"]]);
  expect(focusedPane(TWO)?.name).toBe("b");
  const again = show(TWO, pane("a"));
  expect(names(again)).toEqual([["a"], ["b"]]);
  expect(focusedPane(again)?.name).toBe("a");
});

test("terminals of different owners are different", () => {
  expect(names(show(TWO, { ...pane("a"), owner: "ann" }))).toEqual([["a"], ["b"], ["ann/a"]]);
});

test("a split puts the new terminal behind the other, with the keyboard", () => {
  const layout = split(split(TWO, "b", { direction: "right", pane: pane("c") }), "b", {
    direction: "down",
    pane: pane("d"),
  });
  expect(names(layout)).toEqual([["a"], ["b", "d", "c"]]);
  expect(focusedPane(layout)?.name).toBe("d");
  expect(names(split(layout, "d", { direction: "down", pane: pane("a") }))).toEqual(names(layout));
});

test("closing gives the room to the neighbour, and the last pane takes its tab with it", () => {
  let layout = split(TWO, "b", { direction: "right", pane: pane("c") });
  layout = closePane(layout, "b");
  expect(currentTab(layout)?.root).toEqual(pane("c"));
  layout = closePane(layout, "c");
  expect(names(layout)).toEqual([["a"]]);
  expect(focusedPane(layout)?.name).toBe("a");
  expect(closePane(layout, "a")).toEqual(NO_LAYOUT);
  expect(closePane(layout, "unknown")).toBe(layout);
});

test("a tab in the background is closed without changing what is shown", () => {
  expect(focusedPane(closePane(TWO, "a"))?.name).toBe("b");
});

test("another mode keeps the place", () => {
  const layout = changePane(TWO, "b", pane("b", "follow"));
  expect(focusedPane(layout)).toEqual(pane("b", "follow"));
});

test("tabs are gone through around the end", () => {
  const { id } = TWO.tabs[0]!;
  expect(neighbourTab(TWO, 1)).toBe(id);
  expect(neighbourTab(selectTab(TWO, id), -1)).toBe(TWO.tabs[1]!.id);
  expect(neighbourTab(NO_LAYOUT, 1)).toBeUndefined();
});

test("a border stays away from the ends", () => {
  const layout = split(TWO, "b", { direction: "right", pane: pane("c") });
  const share = (value: number) => {
    const { root } = currentTab(moveBorder(layout, layout.current!, [], value))!;
    return root.kind === "split" ? root.share : undefined;
  };
  expect([share(0.3), share(-1), share(2)]).toEqual([0.3, 0.1, 0.9]);
});

test("what is stored comes back", () => {
  const layout = renameTab(split(TWO, "b", { direction: "down", pane: pane("c", "follow") }), 2, "mine");
  expect(parseLayout(JSON.parse(JSON.stringify(focus(layout, "b"))))).toEqual(focus(layout, "b"));
});

test.each([
  null,
  "text",
  { tabs: "none" },
  { tabs: [1, null, { root: {} }, { root: { kind: "pane", name: 1 } }] },
  { tabs: [{ root: { kind: "split", first: {}, second: null } }], current: 7 },
])("a stored %j is as good as nothing", (value) => {
  expect(parseLayout(value)).toEqual(NO_LAYOUT);
});

test("a terminal that is stored twice is shown once", () => {
  const twice = { tabs: [{ id: 5, root: pane("a"), focus: "x" }, { root: pane("a") }], current: 5 };
  expect(parseLayout(twice)).toEqual({ tabs: [{ id: 1, root: pane("a"), focus: "a" }], current: 1 });
});
