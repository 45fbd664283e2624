import { signal } from "@preact/signals";
import { describeError } from "../connection/describe-error.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../ui/visible-text.ts";
import { closePane, keyOf, type PaneLayout } from "./layout.ts";
import { layout } from "./open-terminals.ts";
import { paneModels } from "./pane-model.tsx";

const asked = signal<readonly PaneLayout[] | undefined>(undefined);

/** Closes panes, after a question if something still runs there that could be ended from here. */
export function askToClose(panes: readonly PaneLayout[]): void {
  const running = panes.filter((pane) => {
    const state = paneModels.value.get(keyOf(pane))?.state.value;
    return state?.kind === "open" && state.mode === "control";
  });
  if (running.length === 0) close(panes);
  else asked.value = panes;
}

function close(panes: readonly PaneLayout[]): void {
  for (const pane of panes) layout.value = closePane(layout.value, keyOf(pane));
}

async function end(panes: readonly PaneLayout[]): Promise<void> {
  for (const pane of panes) {
    const model = paneModels.value.get(keyOf(pane));
    try {
      // What had ended before may still be of interest, so only what was ended here is forgotten.
      if (model?.state.value.kind === "open") await model.endAndForget();
    } catch (error) {
      toast({ kind: "bad", ...describeError(error) });
    }
  }
  close(panes);
}

/** Asks what is to become of a terminal that is closed. */
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
          {panes.length === 1 ? "It still runs" : "They still run"}. Left running, you and others find{" "}
          {panes.length === 1 ? "it" : "them"} again under Terminals, also tomorrow.
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
