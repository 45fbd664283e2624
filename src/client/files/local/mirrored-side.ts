import { ExecError } from "../../../base/errors.ts";
import { fileError } from "../file-error.ts";
import type { MirrorChange, MirrorOptions, TreeEntry } from "../trees.ts";
import type { FileCopy } from "./file-copy.ts";
import type { Part } from "./mirror-plan.ts";
import { type EntryInfo, type Job, type Entry, type Seen, UNFINISHED_MODE } from "./sides.ts";
import { joinRelative, type TreeCopy } from "./tree-copy.ts";

const OWNER_MAY_CHANGE = 0o700;

/** A directory of the source, and what the destination has in its place. */
export interface Visit extends Job {
  /** The destination's directory; undefined if it does not exist. */
  readonly existing: EntryInfo | "root" | "unfinished root" | undefined;
  readonly part: Part;
}

type Target = Pick<Entry, "to" | "path">;

/** The destination of a mirror: what exists, and what must be removed. */
export class MirroredSide {
  readonly #copy: TreeCopy;
  readonly #files: FileCopy;
  readonly #options: MirrorOptions;

  constructor(copy: TreeCopy, files: FileCopy) {
    this.#copy = copy;
    this.#files = files;
    this.#options = copy.options.mirror ?? {};
  }

  /** Whether the filter allows an entry to be copied, or deleted. */
  async isIncluded({ path, kind, size }: TreeEntry): Promise<boolean> {
    const { filter } = this.#copy.options;
    return filter === undefined || filter({ path, kind, size });
  }

  async listExisting(directory: string, signal: AbortSignal): Promise<Seen> {
    const seen = await this.#copy.destination.listExisting(directory, signal);
    if (seen === undefined)
      throw new ExecError("UNSUPPORTED", "this server does not have fs/readDirectory.detailed");
    return seen;
  }

  /** Makes the directory if needed, and lets it get its mode at the end. */
  async prepare({ to, path, info, existing }: Visit, signal: AbortSignal): Promise<string> {
    // It belongs to the caller, unless an earlier copy has made it.
    if (existing === "root") return to;
    const { destination } = this.#copy;
    const isDry = this.#options.dryRun === true;
    const mode = this.#files.modeOf(info);
    const finishLater = (directory: string): string => {
      if (mode !== undefined) {
        this.#copy.keepsMode(info.mode, path);
        this.#copy.setModeLater({ to: directory, path }, mode);
      }
      return directory;
    };
    if (existing === "unfinished root") return isDry ? to : finishLater(to);
    if (existing === undefined) {
      if (path !== "") this.report("create", path, "directory");
      this.#copy.copied("directories", path);
      if (isDry) return to;
      const options = { mode, resumes: true, isParentNew: path !== "" };
      const made =
        path === ""
          ? await destination.makeRoot(to, options, signal)
          : await destination.makeDirectory(to, options, signal);
      return finishLater(made.path);
    }
    const isUnfinished = ((existing.mode ?? 0) & 0o7777) === UNFINISHED_MODE;
    const missing = isUnfinished ? mode : this.#files.missingMode(info, existing);
    if (missing !== undefined && !isUnfinished) this.report("mode", path, "directory");
    if (isDry || existing.mode === undefined) return to;
    const isClosed = (existing.mode & OWNER_MAY_CHANGE) !== OWNER_MAY_CHANGE;
    if (isClosed)
      await destination.setMode(to, "directory", (existing.mode & 0o777) | OWNER_MAY_CHANGE, signal);
    const final = missing ?? (isClosed ? existing.mode & 0o777 : undefined);
    if (final !== undefined) this.#copy.setModeLater({ to, path }, final);
    return to;
  }

  /** Removes an entry that is in the place of one of another kind. */
  async clear({ to, path }: Target, existing: EntryInfo | undefined, signal: AbortSignal): Promise<void> {
    const { operation, destination } = this.#copy;
    const isDry = this.#options.dryRun === true;
    if (existing?.kind !== "directory") {
      if (!isDry) await destination.remove(to, signal);
      return;
    }
    const isEmpty = (await this.listExisting(to, signal)).size === 0;
    if (isEmpty && !isDry) await destination.removeDirectory(to, "if empty", signal);
    if (isEmpty || (this.#options.delete === true && (await this.delete({ to, path }, existing, signal))))
      return;
    const reason = "a non-empty directory is in its place";
    throw fileError("INVALID_INPUT", operation, to, reason, "ENOTEMPTY");
  }

  /** Deletes something with everything in it, except what the filter protects. False if that has kept something. */
  async delete({ to, path }: Target, { kind }: EntryInfo, signal: AbortSignal): Promise<boolean> {
    const { destination } = this.#copy;
    if (kind === "directory" && (await this.#protects({ to, path }, signal))) {
      for (const [name, info] of await this.listExisting(to, signal)) {
        const inner = this.#inner({ to, path }, name);
        if (await this.isIncluded({ ...info, path: inner.path })) await this.delete(inner, info, signal);
      }
      return false;
    }
    this.report("delete", path, kind);
    if (this.#options.dryRun !== true)
      await (kind === "directory"
        ? destination.removeDirectory(to, "with contents", signal)
        : destination.remove(to, signal));
    this.#copy.copied("deleted", path);
    return true;
  }

  /** Whether the filter protects something below a directory. */
  async #protects(directory: Target, signal: AbortSignal): Promise<boolean> {
    if (this.#copy.options.filter === undefined) return false;
    for (const [name, info] of await this.listExisting(directory.to, signal)) {
      const inner = this.#inner(directory, name);
      if (!(await this.isIncluded({ ...info, path: inner.path }))) return true;
      if (info.kind === "directory" && (await this.#protects(inner, signal))) return true;
    }
    return false;
  }

  #inner({ to, path }: Target, name: string): Target {
    return { to: this.#copy.destination.child(to, name), path: joinRelative(path, name) };
  }

  report(action: MirrorChange["action"], path: string, kind: MirrorChange["kind"], bytes = 0): void {
    this.#options.onChange?.({ action, path, kind, bytes });
  }
}
