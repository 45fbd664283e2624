import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { visibleText } from "../../../base/visible-text.ts";
import { useHost } from "../../connection/use-host.ts";
import { addressOf, nameOf } from "../../frame/paths.ts";
import { imageType } from "../file-content.ts";

const MAX_BYTES = 10_000_000;

export interface MarkdownImageProps {
  readonly path: string;
  readonly label: string;
  /** What stands for it must not be another link then. */
  readonly isInLink: boolean;
}

/** A picture of the server's machine; a link to it if it cannot be shown. */
export function MarkdownImage({ path, label, isInLink }: MarkdownImageProps) {
  const { files } = useHost();
  const url = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const load = async (): Promise<void> => {
      const type = imageType(nameOf(path));
      const { kind, size } = await files.stat(path, { signal });
      if (type === undefined || kind !== "file" || size > MAX_BYTES) return;
      const bytes = await files.read(path, { signal, maxBytes: MAX_BYTES });
      if (!signal.aborted) url.value = URL.createObjectURL(new Blob([bytes.slice()], { type }));
    };
    load().catch(() => {}); // The link says what is missing.
    return () => {
      leaving.abort();
      if (url.value !== undefined) URL.revokeObjectURL(url.value);
      url.value = undefined;
    };
  }, [files, path]);
  const name = label || visibleText(nameOf(path));
  if (url.value === undefined) return isInLink ? name : <a href={addressOf(path)}>{name}</a>;
  return (
    <img
      src={url.value}
      alt={label}
      onError={() => {
        url.value = undefined;
      }}
    />
  );
}
