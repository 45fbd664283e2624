import { signal } from "@preact/signals";
import { attempt } from "../connection/attempt.ts";
import { serverLink } from "../connection/server-link.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { findTerminal } from "./kept-terminals.ts";
import { closePane, terminalKey, type PaneLayout } from "./layout.ts";
import { layout } from "./open-terminals.ts";
import { paneModels } from "./pane-model.ts";
import { endTerminal } from "./terminal-session.ts";

const asked = signal<readonly PaneLayout[] | undefined>(undefined);

/** Closes panes, after a question if something still runs there that could be ended from here. */
export function askToClose(panes: readonly PaneLayout[]): void {
  if (panes.some(runs)) asked.value = panes;
  else close(panes);
}

function runs(pane: PaneLayout): boolean {
  const model = paneModels.value.get(terminalKey(pane));
  if (model !== undefined) {
    const state = model.state.value;
    return state.kind === "open"
      ? state.mode === "control"
      : state.kind === "opening" && pane.mode === "control";
  }
  // Its tab was never shown.
  return pane.mode === "control" && findTerminal(pane)?.state === "running";
}

function close(panes: readonly PaneLayout[]): void {
  for (const pane of panes) layout.value = closePane(layout.value, terminalKey(pane));
}

async function end(panes: readonly PaneLayout[]): Promise<void> {
  // Terminals that had ended before may still be of interest, so only those ended here are forgotten.
  for (const pane of panes)
    if (runs(pane)) await attempt(`${visibleText(pane.name)} was not ended`, () => endAndForget(pane));
  close(panes);
}

async function endAndForget(pane: PaneLayout): Promise<void> {
  const model = paneModels.value.get(terminalKey(pane));
  if (model?.state.value.kind === "open") return model.endAndForget();
  const { name, owner, mode } = pane;
  const remote = await serverLink.host.value!.attachKept(name, {
    mode,
    ...(owner === undefined ? {} : { owner }),
  });
  await endTerminal(remote);
  await remote.detach({ forget: true });
}

/** Asks whether to end a terminal that is closed, or to leave it running. */
export function ClosingQuestion() {
  const panes = asked.value;
  if (panes === undefined) return null;
  const answer = (act?: (panes: readonly PaneLayout[]) => void): void => {
    asked.value = undefined;
    act?.(panes);
  };
  const [first] = panes;
  const what = panes.length === 1 ? visibleText(first!.name) : `${panes.length} terminals`;
  return (
    <Dialog title={`Close ${what}?`} onClose={() => answer()}>
      <div class="dialog-text">
        <p>
          {panes.length === 1 ? "It is" : "They are"} still running. If you leave{" "}
          {panes.length === 1 ? "it" : "them"} running, you and others can come back under Terminals, even
          tomorrow.
        </p>
      </div>
      <footer class="dialog-actions term-closing">
        <Button kind="danger" icon="stop" onClick={() => answer((closed) => void end(closed))}>
          End {panes.length === 1 ? "it" : "them"}
        </Button>
        <Button onClick={() => answer()}>Cancel</Button>
        <Button kind="primary" onClick={() => answer(close)}>
          Leave running
        </Button>
      </footer>
    </Dialog>
  );
}
