import { useHost } from "../connection/use-host.ts";
import { type Command, useCommands } from "../frame/commands.ts";
import { copyAndSay } from "../ui/copy-text.ts";
import { pathOf } from "./addresses.ts";
import { askToClose } from "./closing.tsx";
import { focus, focusedPane, terminalKey, neighbourTab, selectTab } from "./layout.ts";
import { neighbourPane, type Way } from "./neighbour-pane.ts";
import { layout, openNew } from "./open-terminals.ts";
import { paneModels, type PaneModel } from "./pane-model.tsx";
import { changeFontSize, screenReader } from "./settings.ts";

const GROUP = "Terminals";
const WAYS: readonly Way[] = ["Left", "Right", "Up", "Down"];

/** What works with any terminal that is shown. */
function paneCommands(model: () => PaneModel | undefined): Command[] {
  return [
    {
      id: "terminal-copy",
      title: "Copy what is selected",
      group: GROUP,
      keys: "Ctrl+Shift+C",
      run: () => void model()?.copy(),
    },
    {
      id: "terminal-find",
      title: "Find in the terminal",
      group: GROUP,
      keys: "Ctrl+Shift+F",
      run: () => {
        const shown = model();
        if (shown !== undefined) shown.isSearching.value = true;
      },
    },
    {
      id: "terminal-larger",
      title: "Larger text",
      group: GROUP,
      keys: "Ctrl+Shift++",
      run: () => changeFontSize(1),
    },
    {
      id: "terminal-smaller",
      title: "Smaller text",
      group: GROUP,
      keys: "Ctrl+Shift+_",
      run: () => changeFontSize(-1),
    },
    { id: "terminal-usual", title: "Text in its usual size", group: GROUP, run: () => changeFontSize(0) },
    {
      id: "terminal-reader",
      title: screenReader.value ? "Stop telling output to screen readers" : "Tell output to screen readers",
      group: GROUP,
      run: () => {
        screenReader.value = !screenReader.value;
      },
    },
  ];
}

/** The commands of the view of terminals. */
export function useTerminalCommands(): void {
  const host = useHost();
  const model = (): PaneModel | undefined => {
    const pane = focusedPane(layout.value);
    return pane && paneModels.value.get(terminalKey(pane));
  };
  const goTab = (steps: number): void => {
    const id = neighbourTab(layout.value, steps);
    if (id !== undefined) layout.value = selectTab(layout.value, id);
  };
  const closeFocused = (): void => {
    const pane = focusedPane(layout.value);
    if (pane !== undefined) askToClose([pane]);
  };
  const share = async (): Promise<void> => {
    const pane = focusedPane(layout.value);
    if (pane === undefined) return;
    await copyAndSay(
      location.origin + pathOf({ ...pane, mode: "follow" }),
      "The address is in the clipboard. Whoever may follow this terminal can look on with it.",
    );
  };
  useCommands(
    () => [
      {
        id: "terminal-new",
        title: "New terminal",
        group: GROUP,
        keys: "n",
        right: "start",
        run: () => void openNew(host),
      },
      {
        id: "terminal-new-anywhere",
        title: "New terminal, also in a terminal",
        group: GROUP,
        keys: "Alt+Shift+N",
        right: "start",
        run: () => void openNew(host),
      },
      {
        id: "terminal-right",
        title: "Split to the right",
        group: GROUP,
        keys: "Alt+Shift+R",
        right: "start",
        run: () => void openNew(host, "right"),
      },
      {
        id: "terminal-down",
        title: "Split down",
        group: GROUP,
        keys: "Alt+Shift+D",
        right: "start",
        run: () => void openNew(host, "down"),
      },
      {
        id: "terminal-next",
        title: "Next tab",
        group: GROUP,
        keys: "Alt+Shift+PageDown",
        run: () => goTab(1),
      },
      {
        id: "terminal-previous",
        title: "Previous tab",
        group: GROUP,
        keys: "Alt+Shift+PageUp",
        run: () => goTab(-1),
      },
      ...WAYS.map((way) => ({
        id: `terminal-go-${way}`,
        title: `Go to the terminal ${PLACES[way]}`,
        group: GROUP,
        keys: `Alt+Shift+Arrow${way}`,
        run: () => {
          const key = neighbourPane(way);
          if (key !== undefined) layout.value = focus(layout.value, key);
        },
      })),
      {
        id: "terminal-close",
        title: "Close the terminal",
        group: GROUP,
        keys: "Alt+Shift+X",
        run: closeFocused,
      },
      {
        id: "terminal-share",
        title: "Copy the address for looking on, read-only",
        group: GROUP,
        run: () => void share(),
      },
      ...paneCommands(model),
    ],
    [screenReader.value],
  );
}

const PLACES: Record<Way, string> = {
  Left: "at the left",
  Right: "at the right",
  Up: "above",
  Down: "below",
};
