import { closeSync, fstatSync } from "node:fs";
import { withCleanUp } from "./clean-up.ts";
import type { CheckedPath, FileAccess } from "./file-access.ts";
import { invalidInput } from "./file-error.ts";
import { joinPath, type NativePath, pathComponents } from "./native-path.ts";
import { openDirectories, openEntryAt } from "./no-follow.ts";

const NOT_FOLLOWED = { followSymlinks: false };

/**
 * Access by paths without links: only the last name may be one, and only where the entry itself is meant. Every
 * directory is opened relative to its parent, so somebody who puts a link in its place meanwhile diverts nothing.
 */
export class LinkFree implements FileAccess {
  readonly followsLinks = false;
  readonly #inner: FileAccess;

  constructor(inner: FileAccess) {
    this.#inner = inner;
  }

  get isBounded(): boolean {
    return this.#inner.isBounded;
  }

  get isTrusted(): boolean {
    return this.#inner.isTrusted;
  }

  check(path: NativePath): CheckedPath {
    return this.#inner.check(path, NOT_FOLLOWED);
  }

  onEntry<T>(path: NativePath, work: (path: NativePath) => T): T {
    return this.#inParent(path, (parent, name) => work(joinPath(`/proc/self/fd/${parent}`, name)));
  }

  onTarget<T>(path: NativePath, _: object, work: (path: NativePath) => T): T {
    return this.#inParent(path, (parent, name) => {
      const target = openEntryAt(parent, name);
      return withCleanUp(
        () => {
          this.checkOpened(target, path);
          if (fstatSync(target).isSymbolicLink()) throw invalidInput("path contains a symbolic link");
          return work(`/proc/self/fd/${target}`);
        },
        () => closeSync(target),
      );
    });
  }

  checkOpened(fd: number, path: NativePath): void {
    this.#inner.checkOpened(fd, path);
  }

  checkChange(path: NativePath): void {
    this.#inner.checkChange(path);
  }

  depthOfTop(path: NativePath): number | undefined {
    return this.#inner.depthOfTop(path);
  }

  #inParent<T>(path: NativePath, work: (parent: number, name: NativePath) => T): T {
    this.check(path);
    const names = pathComponents(path);
    const name = names.pop() ?? ".";
    const parent = openDirectories(names);
    return withCleanUp(
      () => work(parent, name),
      () => closeSync(parent),
    );
  }
}
