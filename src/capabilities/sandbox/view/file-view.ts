/**
 * The file system as seen inside a sandbox: a root, and mounts over it, in this order. Paths contain no symbolic links,
 * except the path of a `link` itself.
 */
export interface FileView {
  /** `empty` contains only the mounts; the others show the whole disk. */
  readonly root: "empty" | "readOnly" | "writable";
  readonly mounts: readonly ViewMount[];
  /** Device and inode of everything that is mounted or hidden, so that replacing it is noticed. */
  readonly identity?: string;
}

export type ViewMount =
  /** The same path outside, with everything below it. */
  | { readonly kind: "readOnly" | "writable"; readonly path: string }
  /** Exists, but cannot be opened or listed: EACCES. Later mounts can be below a hidden directory. */
  | { readonly kind: "hiddenFile" | "hiddenDirectory"; readonly path: string }
  /** Does not exist outside, and cannot be created inside. What may be created outside is a directory, or a file. */
  | { readonly kind: "absent" | "absentFile"; readonly path: string }
  /** A symbolic link below an `empty` root, such as /bin. */
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** Whether a sandbox that was started with one view can serve the other. */
export function sameView(one: FileView, other: FileView): boolean {
  return (
    one.root === other.root &&
    one.identity === other.identity &&
    one.mounts.length === other.mounts.length &&
    one.mounts.every((mount, index) => sameMount(mount, other.mounts[index]!))
  );
}

function sameMount(one: ViewMount, other: ViewMount): boolean {
  if (one.kind !== other.kind || one.path !== other.path) return false;
  return one.kind !== "link" || one.target === (other as typeof one).target;
}
