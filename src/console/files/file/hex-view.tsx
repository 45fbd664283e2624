import { useMemo } from "preact/hooks";
import { type FileFrame, FilesFrame } from "../files-frame.tsx";
import { hexRows } from "../file-content.ts";
import { formatBytes } from "../../ui/format.ts";
import type { Loaded } from "./file-document.ts";

export interface HexViewProps {
  readonly frame: FileFrame;
  readonly loaded: Loaded;
}

const SHOWN_BYTES = 4096;

/** The first bytes of a file that is not text. */
export function HexView({ frame, loaded }: HexViewProps) {
  const rows = useMemo(() => hexRows(loaded.bytes.subarray(0, SHOWN_BYTES)), [loaded.bytes]);
  const more = loaded.size > SHOWN_BYTES;
  return (
    <FilesFrame
      {...frame}
      foot={
        <footer class="files-foot number">
          <span>Not text</span>
          <span>{formatBytes(loaded.size)}</span>
          {more ? <span>the first {formatBytes(SHOWN_BYTES)} are shown</span> : null}
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
