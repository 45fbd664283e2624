import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { copyAndSay } from "../ui/copy-text.ts";
import { pathOf } from "./addresses.ts";
import { askToClose } from "./closing.tsx";
import { focus, focusedPane, terminalKey, neighbourTab, selectTab } from "./layout.ts";
import { layout, openNew } from "./open-terminals.ts";
import { paneModels, type PaneModel } from "./pane-model.ts";
import { changeFontSize, screenReader } from "./settings.ts";

const SIDES = [
  ["Left", "at the left"],
  ["Right", "at the right"],
  ["Up", "above"],
  ["Down", "below"],
] as const;

/** The commands of the view of terminals. */
export function useTerminalCommands(): void {
  const host = useHost();
  const model = (): PaneModel | undefined => {
    const pane = focusedPane(layout.value);
    return pane && paneModels.value.get(terminalKey(pane));
  };
  const find = (): void => {
    const shown = model();
    if (shown !== undefined) shown.isSearching.value = true;
  };
  const switchReader = (): void => {
    screenReader.value = !screenReader.value;
  };
  const openTab = (): void => void openNew(host);
  const goTab = (steps: number): void => {
    const id = neighbourTab(layout.value, steps);
    if (id !== undefined) layout.value = selectTab(layout.value, id);
  };
  const close = (): void => {
    const pane = focusedPane(layout.value);
    if (pane !== undefined) askToClose([pane]);
  };
  const share = (): void => {
    const pane = focusedPane(layout.value);
    if (pane === undefined) return;
    void copyAndSay(
      location.origin + pathOf({ ...pane, mode: "follow" }),
      "The address was copied. Anyone who may follow this terminal can watch it there.",
    );
  };
  useCommands(
    () =>
      inGroup("Terminals", [
        { id: "terminal-new", title: "New terminal", keys: "n", right: "start", run: openTab },
        {
          id: "terminal-new-anywhere",
          title: "New terminal, even in a terminal",
          keys: "Alt+Shift+N",
          right: "start",
          run: openTab,
        },
        {
          id: "terminal-right",
          title: "Split to the right",
          keys: "Alt+Shift+R",
          right: "start",
          run: () => void openNew(host, "right"),
        },
        {
          id: "terminal-down",
          title: "Split down",
          keys: "Alt+Shift+D",
          right: "start",
          run: () => void openNew(host, "down"),
        },
        { id: "terminal-next", title: "Next tab", keys: "Alt+Shift+PageDown", run: () => goTab(1) },
        { id: "terminal-previous", title: "Previous tab", keys: "Alt+Shift+PageUp", run: () => goTab(-1) },
        ...SIDES.map(([side, words]) => ({
          id: `terminal-go-${side}`,
          title: `Go to the terminal ${words}`,
          keys: `Alt+Shift+Arrow${side}`,
          run: () => {
            const key = neighbourPane(side);
            if (key !== undefined) layout.value = focus(layout.value, key);
          },
        })),
        { id: "terminal-close", title: "Close the terminal", keys: "Alt+Shift+X", run: close },
        { id: "terminal-share", title: "Copy the address for watching, read-only", run: share },
        {
          id: "terminal-copy",
          title: "Copy the selection",
          keys: "Ctrl+Shift+C",
          run: () => void model()?.copy(),
        },
        { id: "terminal-find", title: "Find in the terminal", keys: "Ctrl+Shift+F", run: find },
        { id: "terminal-larger", title: "Larger text", keys: "Ctrl+Shift++", run: () => changeFontSize(1) },
        {
          id: "terminal-smaller",
          title: "Smaller text",
          keys: "Ctrl+Shift+_",
          run: () => changeFontSize(-1),
        },
        { id: "terminal-usual", title: "Default text size", run: () => changeFontSize(0) },
        {
          id: "terminal-reader",
          title: screenReader.value
            ? "Stop announcing output to screen readers"
            : "Announce output to screen readers",
          run: switchReader,
        },
      ]),
    [screenReader.value],
  );
}

type Side = (typeof SIDES)[number][0];

/** The visible pane next to the one with the keyboard focus. */
function neighbourPane(side: Side): string | undefined {
  const focused = focusedPane(layout.value);
  if (focused === undefined) return undefined;
  const cells = [...document.querySelectorAll<HTMLElement>(".term-sheet:not([hidden]) .term-cell")];
  const from = cells.find((cell) => cell.dataset["key"] === terminalKey(focused))?.getBoundingClientRect();
  if (from === undefined) return undefined;
  let best: { readonly key: string; readonly distance: number } | undefined;
  for (const cell of cells) {
    const key = cell.dataset["key"]!;
    const distance = distanceTo(side, from, cell.getBoundingClientRect());
    if (distance !== undefined && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { key, distance };
  }
  return best?.key;
}

/** Distance from one box to another in a direction; undefined if it is not in that direction. */
function distanceTo(side: Side, from: DOMRect, to: DOMRect): number | undefined {
  const isHorizontal = side === "Left" || side === "Right";
  const overlaps = isHorizontal
    ? to.top < from.bottom && to.bottom > from.top
    : to.left < from.right && to.right > from.left;
  if (!overlaps) return undefined;
  const distance = {
    Left: from.left - to.right,
    Right: to.left - from.right,
    Up: from.top - to.bottom,
    Down: to.top - from.bottom,
  }[side];
  return distance < 0 ? undefined : distance;
}
