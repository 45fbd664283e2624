import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { describeFailure } from "../connection/describe-error.ts";
import { Icon } from "../ui/icon.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { droppedFiles } from "./jobs/given-files.ts";
import type { Given } from "./jobs/upload-plan.ts";

export interface DropZoneProps {
  readonly directory: string;
  /** Whether the person may upload. */
  readonly isOpen: boolean;
  readonly onDrop: (given: Given) => Promise<void>;
  readonly children: ComponentChildren;
}

/** Takes files and directories that are dragged from the desktop. */
export function DropZone({ directory, isOpen, onDrop, children }: DropZoneProps) {
  const isOver = useSignal(false);
  const takes = (event: DragEvent): boolean => isOpen && event.dataTransfer?.types.includes("Files") === true;
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
        void droppedFiles(event.dataTransfer!)
          .then(onDrop)
          .catch((error: unknown) =>
            toast({ kind: "bad", ...describeFailure("The upload did not begin", error) }),
          );
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
