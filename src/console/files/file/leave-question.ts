import type { Signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { askBeforeLeaving } from "../../frame/router.ts";
import { confirm } from "../../ui/confirm.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { nameOf } from "../../frame/paths.ts";

/** Asks before a changed file is left, and before the page is closed. */
export function useLeaveQuestion(isChanged: Signal<boolean>, path: string): void {
  const isAsking = isChanged.value;
  // Before the next key or click, which may leave.
  useLayoutEffect(() => {
    if (!isAsking) return;
    const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", onUnload);
    const stopAsking = askBeforeLeaving(async () => {
      const leaves = await confirm({
        title: "Leave without saving?",
        text: `Your changes of ${visibleText(nameOf(path))} would be lost.`,
        action: "Leave",
        danger: true,
      });
      // Otherwise they would be kept for coming back.
      if (leaves) isChanged.value = false;
      return leaves;
    });
    return () => {
      removeEventListener("beforeunload", onUnload);
      stopAsking();
    };
  }, [isAsking, path]);
}
