import { effect, signal } from "@preact/signals";
import type { Host } from "../../client/browser.ts";
import { attempt } from "../connection/attempt.ts";
import { NOT_CONNECTED } from "../connection/describe-error.ts";
import { serverLink } from "../connection/server-link.ts";
import { toast } from "../ui/toast.tsx";
import {
  focusedPane,
  terminalKey,
  type Layout,
  type PaneLayout,
  show,
  split,
  type SplitLayout,
} from "./layout.ts";
import { paneModels } from "./pane-model.ts";
import { loginShell, startNamed } from "./start-terminal.ts";
import { storedLayout, storeLayout } from "./stored-layout.ts";

/** The tabs and panes of this page. A reload finds them again. */
export const layout = signal<Layout>(storedLayout());

effect(() => storeLayout(layout.value));

/** Whether a terminal is being started. */
export const isStarting = signal(false);

/** Starts a shell in a new tab, or beside the pane that has the keyboard. */
export async function openNew(host: Host, direction?: SplitLayout["direction"]): Promise<void> {
  if (isStarting.value) return;
  if (!serverLink.isConnected.value) {
    toast({ kind: "bad", ...NOT_CONNECTED });
    return;
  }
  isStarting.value = true;
  await attempt("The terminal was not started", async () => {
    const beside = focusedPane(layout.value);
    const size = beside && paneModels.value.get(terminalKey(beside))?.grid.value;
    const name = await startNamed(host, loginShell(host), size);
    const pane: PaneLayout = { kind: "pane", name, mode: "control" };
    layout.value =
      direction === undefined || beside === undefined
        ? show(layout.value, pane)
        : split(layout.value, terminalKey(beside), { direction, pane });
  });
  isStarting.value = false;
}
