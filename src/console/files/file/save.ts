import { describeFailure } from "../../connection/describe-error.ts";
import { toast } from "../../ui/toast.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { bytesOf, type LineEnding } from "../file-content.ts";
import { nameOf } from "../../frame/paths.ts";
import type { CodeEditor } from "./code-editor.ts";
import { askConflict } from "./conflict.tsx";
import { type FileDocument, NotRegular } from "./file-document.ts";
import { judgeSave } from "./save-rules.ts";

/** Saves what is shown, unless the file was changed by somebody else and the person would rather keep that. */
export async function save(
  document: FileDocument,
  form: { readonly ending: LineEnding; readonly hasMark: boolean },
  editor: CodeEditor,
): Promise<void> {
  const { text } = editor;
  const mine = bytesOf(text, form);
  try {
    const disk = await document.current();
    const judged = judgeSave(document.loaded.value!.bytes, disk, mine);
    if (judged === "conflict") {
      const choice = await askConflict(document.path, disk!, mine);
      if (choice === "cancel") return;
      if (choice === "reload") {
        document.isChanged.value = false;
        await document.load();
        const now = document.loaded.value?.content;
        if (now?.kind === "text") editor.reload(now.text);
        return;
      }
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
