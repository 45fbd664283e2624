import { keepsFocus } from "../../ui/field.tsx";
import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { inGroup, useCommands } from "../../frame/commands.ts";
import { askBeforeLeaving } from "../../frame/router.ts";
import { theme } from "../../frame/theme.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/confirm.tsx";
import { Icon } from "../../ui/icon.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import type { TextContent } from "../file-content.ts";
import { type FileFrame, FilesFrame } from "../files-frame.tsx";
import { formatSize } from "../../../base/amounts.ts";
import { nameOf } from "../../frame/paths.ts";
import { mayWrite } from "../reach.ts";
import type { MarkdownViewProps } from "../markdown/markdown-view.tsx";
import type { CodeEditor } from "./code-editor.ts";
import type { DiskState, FileDocument, Loaded } from "./file-document.ts";
import { ENDINGS } from "./conflict-diff.tsx";
import { EncodingChooser } from "./encoding-chooser.tsx";
import { type Encoding, ENCODINGS } from "../encodings.ts";
import { reload, save } from "./save.tsx";

export interface TextFileProps {
  readonly frame: FileFrame;
  readonly document: FileDocument;
  readonly loaded: Loaded;
  readonly content: TextContent;
  /** Shows its end, and what is appended. */
  readonly onFollow: () => void;
  /** Shows the picture that the text describes, if it does. */
  readonly onPicture: (() => void) | undefined;
}

/** A text that was not saved when its file was left, or the session ended. */
interface Draft {
  readonly text: string;
  /** The file as it was when the changes began. */
  readonly base: Uint8Array<ArrayBuffer>;
  readonly encoding: Encoding;
}

/** The rendered text, instead of the editor. */
interface Preview extends Pick<MarkdownViewProps, "text"> {
  readonly View: (props: MarkdownViewProps) => ComponentChildren;
}

const drafts = new Map<string, Draft>();

/** The encoding of what was not saved, if there is something. */
export function draftEncoding(path: string): Encoding | undefined {
  return drafts.get(path)?.encoding;
}

/** A text, which can be edited unless that would damage it. */
export function TextFile({ frame, document, loaded, content, onFollow, onPicture }: TextFileProps) {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor>(undefined);
  /** The file may be read again while the editor is being loaded. */
  const latest = useRef(content);
  latest.current = content;
  const cursor = useSignal("");
  const isSaving = useSignal(false);
  const isSavingAgain = useRef(false);
  const isReadOnly = !content.isExact || !mayWrite();
  const draft = useMemo(() => (isReadOnly ? undefined : drafts.get(document.path)), [document]);
  const { isChanged, disk } = document;
  const preview = useSignal<Preview | undefined>(undefined);
  const isMarkdown = /\.(?:md|markdown)$/i.test(document.path);
  useEffect(() => {
    let isLeft = false;
    const focused = globalThis.document.activeElement;
    if (draft !== undefined) {
      drafts.delete(document.path);
      document.continueFrom(draft.base);
    }
    void import("./code-editor.ts").then(({ CodeEditor }) => {
      if (isLeft || parent.current === null) return;
      editor.current = new CodeEditor({
        parent: parent.current,
        name: nameOf(document.path),
        saved: latest.current.text,
        text: draft?.text,
        ending: latest.current.ending,
        isReadOnly,
        isDark: theme.value === "dark",
        onChange: (changed) => {
          isChanged.value = changed;
        },
        onCursor: (line, column) => {
          cursor.value = `${line}:${column}`;
        },
      });
      const { activeElement } = globalThis.document;
      if (activeElement === focused && !keepsFocus(activeElement)) editor.current.focus();
    });
    return () => {
      isLeft = true;
      const text = editor.current?.text;
      if (isChanged.value && text !== undefined)
        drafts.set(document.path, {
          text,
          base: document.loaded.value?.bytes ?? loaded.bytes,
          encoding: content.encoding,
        });
      editor.current?.close();
      editor.current = undefined;
    };
  }, [document]);
  useSignalEffect(() => editor.current?.setDark(theme.value === "dark"));
  // Another program has changed the file.
  useEffect(() => {
    if (!isChanged.value) editor.current?.reload(content.text);
    if (preview.value !== undefined) preview.value = { ...preview.value, text: content.text };
  }, [content.text]);
  const switchPreview = async (): Promise<void> => {
    if (preview.value === undefined) {
      const { MarkdownView } = await import("../markdown/markdown-view.tsx");
      preview.value = { View: MarkdownView, text: editor.current?.text ?? content.text };
      return;
    }
    preview.value = undefined;
  };
  const isPreviewed = preview.value !== undefined;
  const wasPreviewed = useRef(false);
  // Before the next key, which belongs to the editor.
  useLayoutEffect(() => {
    if (wasPreviewed.current && !isPreviewed) editor.current?.focus();
    wasPreviewed.current = isPreviewed;
  }, [isPreviewed]);
  const onSave = async (): Promise<void> => {
    const { current } = editor;
    if (current === undefined || isReadOnly) return;
    // What was typed since the save began is saved after it.
    isSavingAgain.current = isSaving.value;
    if (isSaving.value) return;
    isSaving.value = true;
    do {
      isSavingAgain.current = false;
      await save(document, content, current);
    } while (isSavingAgain.current && isChanged.value);
    isSaving.value = false;
  };
  useLeaveQuestion(isChanged, document.path);
  useCommands(() =>
    inGroup("Files", [
      { id: "files-save", title: "Save the file", keys: "Ctrl+S", run: () => void onSave() },
      ...(isMarkdown
        ? [{ id: "files-preview", title: "Preview", keys: "Alt+P", run: () => void switchPreview() }]
        : []),
    ]),
  );
  return (
    <FilesFrame
      {...frame}
      actions={
        <>
          {isChanged.value ? <Badge kind="accent">changed</Badge> : null}
          {isReadOnly ? <Badge kind="warn">read-only</Badge> : null}
          {isMarkdown ? (
            <Button title="Preview (Alt P)" pressed={isPreviewed} onClick={() => void switchPreview()}>
              Preview
            </Button>
          ) : null}
          {onPicture === undefined || isChanged.value ? null : <Button onClick={onPicture}>Picture</Button>}
          {isChanged.value ? null : (
            <Button title="Show the end, and what is appended" onClick={onFollow}>
              Follow
            </Button>
          )}
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
          <span>{formatSize(loaded.size)}</span>
          <EncodingChooser
            encoding={content.encoding}
            isDisabled={isChanged.value}
            onChoose={(encoding) => document.showAs(encoding)}
          />
          {content.hasMark ? <span>BOM</span> : null}
          <span>{ENDINGS[content.ending]}</span>
          <span>{cursor.value}</span>
        </footer>
      }
    >
      <div class="files-text">
        {content.isExact ? null : (
          <p class="banner">
            {content.encoding === "utf-8"
              ? "Some bytes are not UTF-8 and are shown as \ufffd."
              : `The page cannot write all of this text in ${ENCODINGS[content.encoding]}.`}{" "}
            It cannot be edited here, because saving would change it.
          </p>
        )}
        {disk.value === "same" ? null : (
          <DiskNote state={disk.value} onReload={() => void reload(document, () => editor.current)} />
        )}
        {preview.value === undefined ? null : (
          <preview.value.View text={preview.value.text} path={document.path} />
        )}
        <div class="files-editor" ref={parent} hidden={isPreviewed} />
      </div>
    </FilesFrame>
  );
}

interface DiskNoteProps {
  readonly state: Exclude<DiskState, "same">;
  readonly onReload: () => void;
}

const DISK_TEXTS = {
  changed:
    "Someone else changed the file while you were editing it. When you save, you choose which version to keep.",
  gone: "The file was deleted or moved away. Saving creates it again.",
  other:
    "A directory, a device, a pipe or a socket now has the file's name. Rename or delete that, then save to create the file again.",
};

/** Warns that the file on the disk differs from the one being edited. */
function DiskNote({ state, onReload }: DiskNoteProps) {
  return (
    <div class="banner" role="status">
      <Icon name="warning" />
      <p>{DISK_TEXTS[state]}</p>
      {state === "changed" ? (
        <button class="banner-action" type="button" onClick={onReload}>
          Reload and lose my changes
        </button>
      ) : null}
    </div>
  );
}

/** Asks before a changed file is left, and before the page is closed. */
function useLeaveQuestion(isChanged: Signal<boolean>, path: string): void {
  const isAsking = isChanged.value;
  // Before the next key or click, which may leave the page.
  useLayoutEffect(() => {
    if (!isAsking) return;
    const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", onUnload);
    const stopAsking = askBeforeLeaving(async () => {
      const leaves = await confirm({
        title: "Leave without saving?",
        text: `Your changes to ${visibleText(nameOf(path))} will be lost.`,
        action: "Leave",
        danger: true,
      });
      // Otherwise they would be kept as a draft.
      if (leaves) isChanged.value = false;
      return leaves;
    });
    return () => {
      removeEventListener("beforeunload", onUnload);
      stopAsking();
    };
  }, [isAsking, path]);
}
