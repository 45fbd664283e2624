import { signal } from "@preact/signals";
import { describeFailure } from "../../connection/describe-error.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatSize } from "../../../base/amounts.ts";
import { toast } from "../../ui/toast.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { bytesOf, type TextForm } from "../file-content.ts";
import { nameOf } from "../../frame/paths.ts";
import { ConflictDiff, type ConflictDiffProps } from "./conflict-diff.tsx";
import type { CodeEditor } from "./code-editor.ts";
import { type FileDocument, NotRegular } from "./file-document.ts";
import { judgeSave } from "./save-rules.ts";

/** Shows the file as it is on the disk; unsaved changes are lost. */
export async function reload(document: FileDocument, editor: () => CodeEditor | undefined): Promise<void> {
  document.isChanged.value = false;
  await document.load();
  const content = document.loaded.value?.content;
  if (content?.kind === "text") editor()?.reload(content.text);
}

/** Saves the shown text, unless someone else changed the file and the user prefers to keep that. */
export async function save(document: FileDocument, form: TextForm, editor: CodeEditor): Promise<void> {
  const { text } = editor;
  try {
    const mine = bytesOf(text, form);
    const disk = await document.current();
    const judged = judgeSave(document.loaded.value!.bytes, disk, mine);
    if (judged === "conflict") {
      const choice = await askConflict({ path: document.path, disk: disk!, mine, encoding: form.encoding });
      if (choice === "cancel") return;
      if (choice === "reload") return await reload(document, () => editor);
    }
    if (judged === "done") document.saved(mine);
    else await document.write(mine);
    document.isChanged.value = !editor.saved(text);
    toast({ kind: "good", text: `${visibleText(nameOf(document.path))} is saved.` });
  } catch (error) {
    const remedy = "Rename or delete what is there now, then save again.";
    const failure = describeFailure(`${visibleText(nameOf(document.path))} was not saved`, error);
    toast({ kind: "bad", ...failure, ...(error instanceof NotRegular ? { remedy } : {}) });
  }
}

type ConflictChoice = "cancel" | "reload" | "overwrite";

interface Conflict extends ConflictDiffProps {
  readonly path: string;
}

interface ConflictRequest extends Conflict {
  readonly answer: (choice: ConflictChoice) => void;
}

const asked = signal<ConflictRequest | undefined>(undefined);

/** Asks which of two versions to keep. */
function askConflict(conflict: Conflict): Promise<ConflictChoice> {
  return new Promise((resolve) => {
    asked.value = { ...conflict, answer: resolve };
  });
}

/** Shows this question; the view has it once. */
export function ConflictQuestion() {
  const question = asked.value;
  if (question === undefined) return null;
  const answer = (choice: ConflictChoice): void => {
    asked.value = undefined;
    question.answer(choice);
  };
  return (
    <Dialog title="Someone else changed this file" onClose={() => answer("cancel")} size="large">
      <div class="dialog-text">
        {visibleText(nameOf(question.path))} was changed on the disk since you opened it. The file there has{" "}
        {formatSize(question.disk.length)}, yours has {formatSize(question.mine.length)}.
      </div>
      <ConflictDiff mine={question.mine} disk={question.disk} encoding={question.encoding} />
      <footer class="dialog-actions">
        <Button onClick={() => answer("cancel")}>Keep editing</Button>
        <Button onClick={() => answer("reload")}>Reload and lose my changes</Button>
        <Button kind="danger" onClick={() => answer("overwrite")}>
          Overwrite with mine
        </Button>
      </footer>
    </Dialog>
  );
}
