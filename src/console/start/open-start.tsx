import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { holdKeys, inGroup, useCommands } from "../frame/commands.ts";
import { toast } from "../ui/toast.tsx";
import type { StartDialogProps } from "./start-dialog.tsx";

type StartWishes = StartDialogProps["wishes"];

const asked = signal<StartWishes | undefined>(undefined);
const dialog = signal<FunctionComponent<StartDialogProps> | undefined>(undefined);

/** Asks what to start, and goes to its terminal or output. */
export function openStart(wishes: StartWishes = {}): void {
  asked.value = wishes;
}

/** The place of the dialog, once in the page. It is loaded when it is first needed. */
export function StartDialogSlot() {
  useCommands(() =>
    inGroup("Processes", [
      { id: "start", title: "Start a process", keys: "n", right: "start", run: () => openStart() },
    ]),
  );
  const wishes = asked.value;
  useEffect(() => {
    if (wishes === undefined || dialog.value !== undefined) return;
    import("./start-dialog.tsx").then(
      (part) => {
        dialog.value = part.StartDialog;
      },
      () => {
        asked.value = undefined;
        toast({ kind: "bad", text: "The dialog could not be loaded.", remedy: "Reload the page." });
      },
    );
  }, [wishes]);
  const Dialog = dialog.value;
  const isLoading = wishes !== undefined && Dialog === undefined;
  // What is typed meanwhile is meant for the dialog, and not a command of the page.
  useLayoutEffect(() => {
    holdKeys("dialog", isLoading);
  }, [isLoading]);
  if (wishes === undefined || Dialog === undefined) return null;
  return (
    <Dialog
      wishes={wishes}
      onClose={() => {
        asked.value = undefined;
      }}
    />
  );
}
