import { closeSync, fstatSync } from "node:fs";
import { withCleanUp } from "./clean-up.ts";
import type { CheckedPath, FileAccess } from "./file-access.ts";
import { invalidInput } from "./file-error.ts";
import { joinPath, type NativePath } from "./native-path.ts";
import { inParent, openEntryAt } from "./no-follow.ts";

/**
 * Access by paths without links: only the last name may be one, and only where the entry itself is meant. Every
 * directory is opened relative to its parent, so a link that replaces one in the meantime diverts nothing.
 */
export function linkFree(inner: FileAccess): FileAccess {
  const check = (path: NativePath): CheckedPath => inner.check(path, { followSymlinks: false });
  const inCheckedParent = <T>(path: NativePath, work: (parent: number, name: NativePath) => T): T => {
    check(path);
    return inParent(path, work);
  };
  return {
    isBounded: inner.isBounded,
    isTrusted: inner.isTrusted,
    followsLinks: false,
    check,
    onEntry: (path, work) =>
      inCheckedParent(path, (parent, name) => work(joinPath(`/proc/self/fd/${parent}`, name))),
    onTarget: (path, _, work) =>
      inCheckedParent(path, (parent, name) => {
        const target = openEntryAt(parent, name);
        return withCleanUp(
          () => {
            inner.checkOpened(target, path);
            if (fstatSync(target).isSymbolicLink()) throw invalidInput("path contains a symbolic link");
            return work(`/proc/self/fd/${target}`);
          },
          () => closeSync(target),
        );
      }),
    checkOpened: (fd, path) => inner.checkOpened(fd, path),
    checkChange: (path) => inner.checkChange(path),
    depthOfTop: (path) => inner.depthOfTop(path),
  };
}
