import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Button } from "../../ui/button.tsx";
import { ErrorBox } from "../../ui/error-box.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { type FileFrame, FilesFrame } from "../files-frame.tsx";
import { formatSize } from "../../../base/amounts.ts";
import { nameOf } from "../../frame/paths.ts";
import type { Loaded } from "./file-document.ts";

export interface ImageViewProps {
  readonly frame: FileFrame;
  readonly loaded: Loaded;
  readonly type: string;
  /** Shows its source, if that is text. */
  readonly onText: () => void;
}

/** A picture. Only ever as an image: scripts in it do not run, and it loads nothing. */
export function ImageView({ frame, loaded, type, onText }: ImageViewProps) {
  const url = useSignal<string | undefined>(undefined);
  const measures = useSignal<string | undefined>(undefined);
  const isBroken = useSignal(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([loaded.bytes], { type }));
    url.value = made;
    isBroken.value = false;
    return () => URL.revokeObjectURL(made);
  }, [loaded.bytes]);
  const name = visibleText(nameOf(frame.path));
  return (
    <FilesFrame
      {...frame}
      actions={type === "image/svg+xml" ? <Button onClick={onText}>Source</Button> : undefined}
      foot={
        <footer class="files-foot number">
          <span>{type}</span>
          <span>{measures.value}</span>
          <span>{formatSize(loaded.size)}</span>
        </footer>
      }
    >
      {isBroken.value ? (
        <div class="view-failed">
          <ErrorBox
            text="This image cannot be displayed."
            remedy="It is damaged, or its extension does not match its contents. Download it to inspect it."
          />
        </div>
      ) : (
        <div class="files-image">
          <img
            src={url.value}
            alt={name}
            onError={() => {
              isBroken.value = url.value !== undefined;
            }}
            onLoad={(event) => {
              const { naturalWidth, naturalHeight } = event.currentTarget;
              measures.value = `${naturalWidth} × ${naturalHeight}`;
            }}
          />
        </div>
      )}
    </FilesFrame>
  );
}
