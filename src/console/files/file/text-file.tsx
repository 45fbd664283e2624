import { keepsFocus } from "../../ui/field.tsx";
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useCommands } from "../../frame/commands.ts";
import { theme } from "../../frame/theme.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import type { FileContent } from "../file-content.ts";
import { type FileFrame, FilesFrame } from "../files-frame.tsx";
import { formatBytes } from "../../ui/format.ts";
import { nameOf } from "../../frame/paths.ts";
import { mayWrite } from "../reach.ts";
import type { CodeEditor } from "./code-editor.ts";
import { DiskNote } from "./disk-note.tsx";
import { keepDraft, takeDraft } from "./drafts.ts";
import type { FileDocument, Loaded } from "./file-document.ts";
import { save } from "./save.ts";
import { useLeaveQuestion } from "./leave-question.ts";

export interface TextFileProps {
  readonly frame: FileFrame;
  readonly document: FileDocument;
  readonly loaded: Loaded;
  readonly content: Extract<FileContent, { kind: "text" }>;
}

const ENDINGS = { lf: "LF", crlf: "CRLF", mixed: "mixed line ends" };

/** A text, which can be edited unless that would damage it. */
export function TextFile({ frame, document, loaded, content }: TextFileProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor>(undefined);
  const cursor = useSignal("");
  const isSaving = useSignal(false);
  const isReadOnly = !loaded.isWhole || !content.isExact || !mayWrite();
  const draft = useMemo(() => (isReadOnly ? undefined : takeDraft(document.path)), [document]);
  const { isChanged, disk } = document;
  useEffect(() => {
    let isLeft = false;
    if (draft !== undefined) document.continueFrom(draft.base);
    void import("./code-editor.ts").then(({ CodeEditor }) => {
      if (isLeft || place.current === null) return;
      editor.current = new CodeEditor({
        parent: place.current,
        name: nameOf(document.path),
        saved: content.text,
        text: draft?.text,
        ending: content.ending,
        isReadOnly,
        isDark: theme.value === "dark",
        onChange: (changed) => {
          isChanged.value = changed;
        },
        onCursor: (line, column) => {
          cursor.value = `${line}:${column}`;
        },
      });
      if (!keepsFocus(globalThis.document.activeElement)) editor.current.focus();
    });
    return () => {
      isLeft = true;
      const text = editor.current?.text;
      if (isChanged.value && text !== undefined)
        keepDraft(document.path, { text, base: document.loaded.value?.bytes ?? loaded.bytes });
      editor.current?.close();
      editor.current = undefined;
    };
  }, [document]);
  useSignalEffect(() => editor.current?.setDark(theme.value === "dark"));
  // Another program has changed the file.
  useEffect(() => {
    if (!isChanged.value) editor.current?.reload(content.text);
  }, [content.text]);
  const onSave = async (): Promise<void> => {
    const { current } = editor;
    if (current === undefined || isReadOnly || isSaving.value) return;
    isSaving.value = true;
    await save(document, content, current);
    isSaving.value = false;
  };
  useLeaveQuestion(isChanged, document.path);
  useCommands(() => [
    { id: "files-save", title: "Save the file", group: "Files", keys: "Ctrl+S", run: () => void onSave() },
  ]);
  return (
    <FilesFrame
      {...frame}
      actions={
        <>
          {isChanged.value ? <Badge kind="accent">changed</Badge> : null}
          {isReadOnly ? <Badge kind="warn">read-only</Badge> : null}
          {isReadOnly ? null : (
            <Button
              kind={isChanged.value || disk.value === "gone" ? "primary" : "plain"}
              title="Save (Ctrl S)"
              disabled={!(isChanged.value || disk.value === "gone") || isSaving.value}
              onClick={() => void onSave()}
            >
              {isSaving.value ? "Saving…" : "Save"}
            </Button>
          )}
        </>
      }
      foot={
        <footer class="files-foot number">
          <span>{formatBytes(loaded.size)}</span>
          <span>{content.isExact ? `UTF-8${content.hasMark ? " with mark" : ""}` : "not UTF-8"}</span>
          <span>{ENDINGS[content.ending]}</span>
          <span>{cursor.value}</span>
        </footer>
      }
    >
      <div class="files-text">
        {loaded.isWhole ? null : (
          <p class="files-note">
            The file is large: the first {formatBytes(loaded.bytes.length)} of {formatBytes(loaded.size)} are
            shown. Download it to see everything.
          </p>
        )}
        {content.isExact ? null : (
          <p class="files-note">
            Some bytes are not UTF-8 and are shown as {"\ufffd"}. It cannot be edited here, because saving
            would change them.
          </p>
        )}
        {disk.value === "same" ? null : (
          <DiskNote
            state={disk.value}
            onReload={() => {
              isChanged.value = false;
              void document.load().then(() => {
                const now = document.loaded.value?.content;
                if (now?.kind === "text") editor.current?.reload(now.text);
              });
            }}
          />
        )}
        <div class="files-editor" ref={place} />
      </div>
    </FilesFrame>
  );
}
