import { leave } from "../connection/server-link.ts";
import type { Command } from "./commands.ts";
import { isKeySheetOpen } from "./key-sheet.tsx";
import { openPalette } from "./palette.tsx";
import { switchTheme } from "./theme.ts";

/** What can be done wherever the person is. */
export function generalCommands(): readonly Command[] {
  return [
    { id: "palette", title: "Find a command", group: "General", keys: "Ctrl+K", run: openPalette },
    {
      id: "palette-anywhere",
      title: "Find a command, also in a terminal",
      group: "General",
      keys: "F1",
      run: openPalette,
    },
    { id: "keys", title: "Show all keys", group: "General", keys: "?", run: openKeySheet },
    {
      id: "theme",
      title: "Switch between light and dark",
      group: "General",
      keys: "Ctrl+Alt+L",
      run: switchTheme,
    },
    {
      id: "leave",
      title: "Leave, and forget the access of this tab",
      group: "General",
      run: () => void leave(),
    },
  ];
}

function openKeySheet(): void {
  isKeySheetOpen.value = true;
}
