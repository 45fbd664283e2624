import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { Badge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { findTerminal, keptTerminals } from "./kept-terminals.ts";
import { focusedPane, terminalKey } from "./layout.ts";
import { layout, openNew } from "./open-terminals.ts";
import { paneModels } from "./pane-model.tsx";

/** What can be done with the terminal that has the keyboard, and who else is there. */
export function PaneActions() {
  const host = useHost();
  const pane = focusedPane(layout.value);
  if (pane === undefined) return null;
  const model = paneModels.value.get(terminalKey(pane));
  const attached = keptTerminals.value && findTerminal(keptTerminals.value, pane)?.attached;
  const state = model?.state.value;
  const isReadOnly = state !== undefined && "mode" in state && state.mode === "follow";
  return (
    <div class="term-actions">
      {attached === undefined || attached < 2 ? null : (
        <span class="term-people number" title={`${attached} are looking at this terminal`}>
          <Icon name="people" />
          {attached}
        </span>
      )}
      {isReadOnly ? <Badge kind="accent">Read-only</Badge> : null}
      <IconButton
        icon="search"
        label="Find in this terminal"
        keys="Ctrl+Shift+F"
        onClick={() => {
          if (model !== undefined) model.isSearching.value = true;
        }}
      />
      {isAllowed("start") ? (
        <span class="term-wide">
          <IconButton
            icon="split"
            label="Split to the right"
            keys="Alt+Shift+R"
            onClick={() => void openNew(host, "right")}
          />
          <IconButton
            icon="split-down"
            label="Split down"
            keys="Alt+Shift+D"
            onClick={() => void openNew(host, "down")}
          />
        </span>
      ) : null}
    </div>
  );
}
