/**
 * What the file system looks like inside a sandbox: a root, and what is mounted over it, in this order. Paths contain
 * no symbolic links, except the path of a `link` itself.
 */
export interface FileView {
  /** `empty` has only what is mounted; the others show the whole disk. */
  readonly root: "empty" | "readOnly" | "writable";
  readonly mounts: readonly ViewMount[];
}

export type ViewMount =
  /** The same path outside, with everything below it. */
  | { readonly kind: "readOnly" | "writable"; readonly path: string }
  /** Exists, but cannot be opened or listed: EACCES. */
  | { readonly kind: "hiddenFile" | "hiddenDirectory"; readonly path: string }
  /** Does not exist outside, and cannot be created inside. */
  | { readonly kind: "absent"; readonly path: string }
  /** A symbolic link below an `empty` root, such as /bin. */
  | { readonly kind: "link"; readonly path: string; readonly target: string };
