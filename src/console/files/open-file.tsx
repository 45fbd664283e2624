import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { FileStat } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { contentOf } from "./file-content.ts";
import { FileDocument, type Loaded } from "./file/file-document.ts";
import { HexView } from "./file/hex-view.tsx";
import { ImageView } from "./file/image-view.tsx";
import { TextFile } from "./file/text-file.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { downloadFile } from "./jobs/download.ts";
import { addressOf, nameOf, parentOf } from "../frame/paths.ts";

export interface OpenFileProps {
  readonly path: string;
  readonly home: string;
  readonly stat: FileStat;
  /** Looks again at what has the path. */
  readonly again: () => void;
}

/** A file, shown by what it holds. */
export function OpenFile({ path, home, stat, again }: OpenFileProps) {
  const { files } = useHost();
  const document = useMemo(() => new FileDocument(files, path), [files, path]);
  const asText = useSignal(false);
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
      isFile ? [{ id: "files-download", title: "Download", group: "Files", keys: "d", run: download }] : [],
    [isFile],
  );
  const frame = {
    path,
    home,
    directory: parentOf(path),
    tools: isFile ? <IconButton icon="download" label="Download" keys="d" onClick={download} /> : undefined,
  };
  if (stat.kind !== "file")
    return (
      <FilesFrame {...frame}>
        <EmptyState
          icon="system"
          title={`${visibleText(nameOf(path))} is not a regular file`}
          text="It is a device, a pipe or a socket: reading it could wait forever, or change something."
        >
          <Button onClick={() => navigate(addressOf(parentOf(path)))}>Directory above</Button>
        </EmptyState>
      </FilesFrame>
    );
  const { loaded, error } = document;
  if (loaded.value === undefined)
    return (
      <FilesFrame {...frame}>
        {error.value === undefined ? null : (
          <div class="files-error">
            <ErrorBox {...describeError(error.value)}>
              <Button onClick={() => void document.load()}>Try again</Button>
            </ErrorBox>
          </div>
        )}
      </FilesFrame>
    );
  const shown = asText.value ? withText(loaded.value) : loaded.value;
  const { content } = shown;
  if (content.kind === "text")
    return <TextFile frame={frame} document={document} loaded={shown} content={content} />;
  const onText = (): void => {
    asText.value = true;
  };
  const note = document.disk.value === "gone" ? <GoneNote /> : undefined;
  if (content.kind === "image")
    return <ImageView frame={{ ...frame, note }} loaded={shown} type={content.type} onText={onText} />;
  return <HexView frame={{ ...frame, note }} loaded={shown} />;
}

function GoneNote() {
  return (
    <p class="files-note" role="status">
      The file was deleted or moved away. This is what it held.
    </p>
  );
}

/** The source of an image that is text. */
function withText(loaded: Loaded): Loaded {
  return { ...loaded, content: contentOf(loaded.bytes, loaded.isWhole) };
}
