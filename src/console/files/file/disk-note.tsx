import { Icon } from "../../ui/icon.tsx";
import type { DiskState } from "./file-document.ts";

export interface DiskNoteProps {
  readonly state: Exclude<DiskState, "same">;
  readonly onReload: () => void;
}

const TEXTS = {
  changed: "The file was changed by somebody else while you changed it here. Saving asks which one to keep.",
  gone: "The file was deleted or moved away. Saving creates it again.",
  other:
    "A directory, a device, a pipe or a socket has taken the name of the file. Rename or delete that, and saving creates the file again.",
};

/** Says that the file on the disk is not the one that is being edited. */
export function DiskNote({ state, onReload }: DiskNoteProps) {
  return (
    <div class="files-note" role="status">
      <Icon name="warning" />
      <p>{TEXTS[state]}</p>
      {state === "changed" ? (
        <button class="banner-action" type="button" onClick={onReload}>
          Reload, and lose my changes
        </button>
      ) : null}
    </div>
  );
}
