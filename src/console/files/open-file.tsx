import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { FileStat } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { isNarrow } from "../ui/narrow.ts";
import { visibleText } from "../../base/visible-text.ts";
import { formatSize } from "../../base/amounts.ts";
import { hexRows, imageType } from "./file-content.ts";
import { guessEncoding } from "./encodings.ts";
import { FileDocument, type Loaded, MAX_WHOLE_BYTES } from "./file/file-document.ts";
import { ImageView } from "./file/image-view.tsx";
import { PagedText } from "./file/paged-text.tsx";
import { draftEncoding, TextFile } from "./file/text-file.tsx";
import { type FileFrame, FilesFrame } from "./files-frame.tsx";
import { downloadFile } from "./jobs/download.ts";
import { showsTree } from "./preferences.ts";
import { focusTree } from "./tree/tree-view.tsx";
import { addressOf, nameOf, parentOf } from "../frame/paths.ts";

const HEX_BYTES = 4096;

export interface OpenFileProps {
  readonly path: string;
  readonly stat: FileStat;
  /** Reads the path again. */
  readonly again: () => void;
}

/** A file, shown according to its contents. */
export function OpenFile({ path, stat, again }: OpenFileProps) {
  const { files } = useHost();
  const document = useMemo(() => new FileDocument(files, path, draftEncoding(path)), [files, path]);
  /** Shows the end of the file, and what is appended, instead of the editor. */
  const isTail = useSignal(false);
  useEffect(() => {
    if (stat.kind === "file") void document.open();
    return () => document.close();
  }, [document]);
  const isReplaced = document.disk.value === "other" && !document.isChanged.value;
  useEffect(() => {
    if (isReplaced) again();
  }, [isReplaced]);
  const download = (): void => void downloadFile(path, document.loaded.value?.size ?? stat.size);
  const isFile = stat.kind === "file";
  useCommands(
    () =>
      inGroup("Files", [
        ...(isFile ? [{ id: "files-download", title: "Download", keys: "d", run: download }] : []),
        ...(isNarrow.value
          ? []
          : [
              { id: "files-tree", title: "Show or hide the tree", run: switchTree },
              { id: "files-tree-focus", title: "Go to the tree", keys: "Alt+T", run: goToTree },
            ]),
      ]),
    [isFile, isNarrow.value],
  );
  const frame = {
    path,
    directory: parentOf(path),
    tools: (
      <>
        {isNarrow.value ? null : (
          <IconButton icon="split" label="Tree" pressed={showsTree.value} onClick={switchTree} />
        )}
        {isFile ? <IconButton icon="download" label="Download" keys="d" onClick={download} /> : null}
      </>
    ),
  };
  if (stat.kind !== "file")
    return (
      <FilesFrame {...frame}>
        <EmptyState
          icon="system"
          title={`${visibleText(nameOf(path))} is not a regular file`}
          text="It is a device, a pipe or a socket: reading it could hang, or change something."
        >
          <Button onClick={() => navigate(addressOf(parentOf(path)))}>Parent directory</Button>
        </EmptyState>
      </FilesFrame>
    );
  const { loaded, error } = document;
  if (loaded.value === undefined)
    return (
      <FilesFrame {...frame}>
        {error.value === undefined ? null : (
          <div class="view-failed">
            <ErrorBox {...describeError(error.value)}>
              <Button onClick={() => void document.load()}>Try again</Button>
            </ErrorBox>
          </div>
        )}
      </FilesFrame>
    );
  const shown = loaded.value;
  const { content } = shown;
  const note = document.disk.value === "gone" ? <GoneNote /> : undefined;
  const isEditable = shown.isWhole && shown.bytes.length <= MAX_WHOLE_BYTES;
  if (content.kind === "text" && (isTail.value || !isEditable)) {
    // The editor is shown with the current text: what is typed into an older one would be lost.
    const onEdit = async (): Promise<void> => {
      document.isPaged = false;
      await document.load();
      isTail.value = false;
    };
    return (
      <PagedText
        frame={{ ...frame, note }}
        document={document}
        encoding={content.encoding}
        isTail={isTail.value}
        onEdit={isEditable ? () => void onEdit() : undefined}
      />
    );
  }
  if (content.kind === "text")
    return (
      <TextFile
        // An encoding makes another text of it.
        key={content.encoding}
        frame={frame}
        document={document}
        loaded={shown}
        content={content}
        onFollow={() => {
          isTail.value = true;
        }}
        onPicture={imageType(nameOf(path)) === undefined ? undefined : () => document.showAs(undefined)}
      />
    );
  const onText = (): void => document.showAs(guessEncoding(shown.bytes, shown.isWhole) ?? "utf-8");
  if (content.kind === "image")
    return <ImageView frame={{ ...frame, note }} loaded={shown} type={content.type} onText={onText} />;
  const isLarge = !shown.isWhole && imageType(nameOf(path)) !== undefined;
  return (
    <HexView
      frame={{ ...frame, note: isLarge ? <LargePictureNote /> : note }}
      loaded={shown}
      onText={onText}
    />
  );
}

function switchTree(): void {
  showsTree.value = !showsTree.value;
}

function goToTree(): void {
  showsTree.value = true;
  focusTree();
}

function LargePictureNote() {
  return <p class="banner">The picture is too large to be shown here. Download it to see it.</p>;
}

function GoneNote() {
  return (
    <p class="banner" role="status">
      The file was deleted or moved away. This is what it contained.
    </p>
  );
}

interface HexViewProps {
  readonly frame: FileFrame;
  readonly loaded: Loaded;
  readonly onText: () => void;
}

/** The first bytes of a file that is not text. */
function HexView({ frame, loaded, onText }: HexViewProps) {
  const rows = useMemo(() => hexRows(loaded.bytes.subarray(0, HEX_BYTES)), [loaded.bytes]);
  return (
    <FilesFrame
      {...frame}
      actions={<Button onClick={onText}>Show as text</Button>}
      foot={
        <footer class="files-foot number">
          <span>Not text</span>
          <span>{formatSize(loaded.size)}</span>
          {loaded.size > HEX_BYTES ? <span>the first {formatSize(HEX_BYTES)} are shown</span> : null}
        </footer>
      }
    >
      <div class="files-hex code" tabIndex={0} role="region" aria-label="Bytes of the file">
        {rows.map(({ offset, bytes, text }) => (
          <div key={offset}>
            <span class="files-hex-offset">{offset}</span>
            <span class="files-hex-bytes">{bytes}</span>
            <span class="files-hex-text">{text}</span>
          </div>
        ))}
      </div>
    </FilesFrame>
  );
}
