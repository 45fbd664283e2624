import { signal } from "@preact/signals";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { formatBytes } from "../../ui/format.ts";
import { nameOf } from "../../frame/paths.ts";

export type ConflictChoice = "cancel" | "reload" | "overwrite";

interface Asked {
  readonly path: string;
  readonly disk: Uint8Array;
  readonly mine: Uint8Array;
  readonly answer: (choice: ConflictChoice) => void;
}

const asked = signal<Asked | undefined>(undefined);

/** Asks which of two versions stays. */
export function askConflict(path: string, disk: Uint8Array, mine: Uint8Array): Promise<ConflictChoice> {
  return new Promise((resolve) => {
    asked.value = { path, disk, mine, answer: resolve };
  });
}

/** The place of this question, once in the view. */
export function ConflictQuestion() {
  const question = asked.value;
  if (question === undefined) return null;
  const answer = (choice: ConflictChoice): void => {
    asked.value = undefined;
    question.answer(choice);
  };
  return (
    <Dialog title="Somebody else has changed this file" onClose={() => answer("cancel")} size="medium">
      <div class="dialog-text">
        {visibleText(nameOf(question.path))} was changed on the disk since you opened it. The file there has{" "}
        {formatBytes(question.disk.length)}, yours has {formatBytes(question.mine.length)}.
      </div>
      <footer class="dialog-actions">
        <Button onClick={() => answer("cancel")}>Go on editing</Button>
        <Button onClick={() => answer("reload")}>Reload, and lose my changes</Button>
        <Button kind="danger" onClick={() => answer("overwrite")}>
          Overwrite with mine
        </Button>
      </footer>
    </Dialog>
  );
}
