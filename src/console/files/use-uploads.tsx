import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { Files } from "../../client/browser.ts";
import { describeFailure } from "../connection/describe-error.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { chosenFiles } from "./jobs/given-files.ts";
import { upload } from "./jobs/upload.ts";
import { mayWrite } from "./reach.ts";

export interface Uploads {
  /** None if the person may not upload. */
  readonly items: readonly MenuItem[];
  /** The browser's own fields, which nobody sees. */
  readonly fields: ComponentChildren;
}

/** Ways to choose files of this machine for a directory of the server's. */
export function useUploads(files: Files, directory: string): Uploads {
  const filesField = useRef<HTMLInputElement>(null);
  const directoryField = useRef<HTMLInputElement>(null);
  const onChange = (event: Event): void => {
    const field = event.currentTarget as HTMLInputElement;
    if (field.files === null) return;
    upload(files, directory, chosenFiles(field.files)).catch((error: unknown) =>
      toast({ kind: "bad", ...describeFailure("The upload did not begin", error) }),
    );
    // So that the same files can be chosen again.
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
