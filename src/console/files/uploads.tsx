import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { Files } from "../../client/browser.ts";
import { attempt } from "../connection/attempt.ts";
import { Icon } from "../ui/icon.tsx";
import type { MenuItem } from "../ui/menu.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { jobs } from "./jobs/job-queue.ts";
import { upload } from "./jobs/upload.ts";
import { chosenFiles, type Dropped, droppedItems, type UploadSource } from "./jobs/upload-plan.ts";
import { mayWrite } from "./reach.ts";

function beginUpload(
  files: Files,
  directory: string,
  read: () => UploadSource | Promise<UploadSource>,
): Promise<boolean> {
  return attempt("The upload did not start", async () => upload(files, directory, await read()));
}

/** Looks through dropped directories first, which can be stopped as well. */
function uploadDropped(files: Files, directory: string, dropped: Dropped): void {
  if (!dropped.hasDirectories) {
    void beginUpload(files, directory, () => dropped.read(new AbortController().signal, () => {}));
    return;
  }
  jobs.add(
    `Read ${visibleText(dropped.title)}`,
    async (job) => {
      const source = await dropped.read(job.signal, (value) =>
        job.report({ value, max: undefined, unit: "items" }),
      );
      // Its question need not be answered before other transfers go on.
      void beginUpload(files, directory, () => source);
    },
    { isBrief: true },
  );
}

export interface Uploads {
  /** Empty if the user may not upload. */
  readonly items: readonly MenuItem[];
  /** The browser's own fields, which are invisible. */
  readonly fields: ComponentChildren;
}

/** Ways to choose files of this machine for a directory of the server's. */
export function useUploads(files: Files, directory: string): Uploads {
  const filesField = useRef<HTMLInputElement>(null);
  const directoryField = useRef<HTMLInputElement>(null);
  const onChange = (event: Event): void => {
    const field = event.currentTarget as HTMLInputElement;
    if (field.files === null) return;
    const { files: chosen } = field;
    void beginUpload(files, directory, () => chosenFiles(chosen));
    // Allows choosing the same files again.
    field.value = "";
  };
  const chooseFiles = (): void => filesField.current?.click();
  const chooseDirectory = (): void => directoryField.current?.click();
  const hidden = { type: "file", hidden: true, tabIndex: -1, multiple: true, onChange } as const;
  return {
    items: mayWrite()
      ? [
          { id: "upload", title: "Upload files", icon: "upload", keys: "u", run: chooseFiles },
          { id: "upload-directory", title: "Upload a directory", icon: "folder", run: chooseDirectory },
        ]
      : [],
    fields: (
      <>
        <input ref={filesField} aria-label="Files to upload" {...hidden} />
        <input
          ref={directoryField}
          aria-label="Directory to upload"
          {...hidden}
          {...{ webkitdirectory: true }}
        />
      </>
    ),
  };
}

export interface DropZoneProps {
  readonly files: Files;
  readonly directory: string;
  readonly children: ComponentChildren;
}

/** Takes files and directories that are dragged from the desktop. */
export function DropZone({ files, directory, children }: DropZoneProps) {
  const isOver = useSignal(false);
  const takes = (event: DragEvent): boolean =>
    mayWrite() && event.dataTransfer?.types.includes("Files") === true;
  return (
    <div
      class="files-drop"
      onDragOver={(event) => {
        if (!takes(event)) return;
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) isOver.value = false;
      }}
      onDrop={(event) => {
        isOver.value = false;
        if (!takes(event)) return;
        event.preventDefault();
        uploadDropped(files, directory, droppedItems(event.dataTransfer!));
      }}
    >
      {children}
      {isOver.value ? (
        <div class="files-drop-note">
          <Icon name="upload" />
          Upload to {visibleText(directory)}
        </div>
      ) : null}
    </div>
  );
}
