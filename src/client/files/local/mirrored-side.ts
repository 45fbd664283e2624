import { ExecError } from "../../../base/errors.ts";
import { FileError } from "../file-error.ts";
import type { MirrorChange, MirrorOptions, TreeEntry } from "../trees.ts";
import type { FileCopy } from "./file-copy.ts";
import type { Part } from "./mirror-plan.ts";
import { type Destination, type Found, type Job, type Seen, UNFINISHED_MODE } from "./sides.ts";
import { joinRelative, type TreeCopy } from "./tree-copy.ts";

const OWNER_MAY_CHANGE = 0o700;

/** A directory of the source, and what the destination has in its place. */
export interface Visit extends Job {
  /** The directory of the destination; undefined if there is none. */
  readonly there: Found | "root" | "unfinished root" | undefined;
  readonly part: Part;
}

type Place = Pick<Job, "to" | "path">;

/** The destination of a mirror: what is there, and what must go. */
export class MirroredSide {
  readonly #operation: string;
  readonly #copy: TreeCopy;
  readonly #files: FileCopy;
  readonly #destination: Destination;
  readonly #options: MirrorOptions;

  constructor(operation: string, copy: TreeCopy, files: FileCopy, destination: Destination) {
    this.#operation = operation;
    this.#copy = copy;
    this.#files = files;
    this.#destination = destination;
    this.#options = copy.options.mirror ?? {};
  }

  /** Whether the filter lets an entry be copied, or deleted. */
  async isMeant({ path, kind, size }: TreeEntry): Promise<boolean> {
    const { filter } = this.#copy.options;
    return filter === undefined || filter({ path, kind, size });
  }

  async listExisting(directory: string, signal: AbortSignal): Promise<Seen> {
    const seen = await this.#destination.listExisting(directory, signal);
    if (seen === undefined)
      throw new ExecError("UNSUPPORTED", "this server does not have fs/readDirectory.detailed");
    return seen;
  }

  /** Makes the directory if needed, and lets it get its mode at the end. */
  async prepare({ to, path, found, there }: Visit, signal: AbortSignal): Promise<string> {
    // It belongs to the caller, unless an earlier copy has made it.
    if (there === "root") return to;
    const isDry = this.#options.dryRun === true;
    const mode = this.#files.modeOf(found);
    const setMode = (path: string, mode: number, later: AbortSignal): Promise<void> =>
      this.#destination.setMode(path, "directory", mode, later);
    if (there === "unfinished root") {
      if (mode === undefined || isDry) return to;
      this.#copy.keepsMode(found.mode, path);
      this.#copy.setModeLater(path, (later) => setMode(to, mode, later));
      return to;
    }
    if (there === undefined) {
      if (path !== "") this.report("create", path, "directory");
      this.#copy.copied("directories", path);
      if (isDry) return to;
      const options = { mode, resumes: true, isParentNew: path !== "" };
      const made =
        path === ""
          ? await this.#destination.makeRoot(to, options, signal)
          : await this.#destination.makeDirectory(to, options, signal);
      if (mode === undefined) return made.path;
      this.#copy.keepsMode(found.mode, path);
      this.#copy.setModeLater(path, (later) => setMode(made.path, mode, later));
      return made.path;
    }
    const isUnfinished = ((there.mode ?? 0) & 0o7777) === UNFINISHED_MODE;
    const missing = isUnfinished ? mode : this.#files.missingMode(found, there);
    if (missing !== undefined && !isUnfinished) this.report("mode", path, "directory");
    if (isDry || there.mode === undefined) return to;
    const isClosed = (there.mode & OWNER_MAY_CHANGE) !== OWNER_MAY_CHANGE;
    if (isClosed) await setMode(to, (there.mode & 0o777) | OWNER_MAY_CHANGE, signal);
    const final = missing ?? (isClosed ? there.mode & 0o777 : undefined);
    if (final !== undefined) this.#copy.setModeLater(path, (later) => setMode(to, final, later));
    return to;
  }

  /** Removes what is in the place of something of another kind. */
  async clear({ to, path }: Place, there: Found | undefined, signal: AbortSignal): Promise<void> {
    const isDry = this.#options.dryRun === true;
    if (there?.kind !== "directory") {
      if (!isDry) await this.#destination.remove(to, signal);
      return;
    }
    const isEmpty = (await this.listExisting(to, signal)).size === 0;
    if (isEmpty && !isDry) await this.#destination.removeDirectory(to, "if empty", signal);
    if (isEmpty || (this.#options.delete === true && (await this.delete({ to, path }, there, signal))))
      return;
    throw new FileError(
      "INVALID_INPUT",
      `${this.#operation} ${to}: a directory that is not empty is in its place`,
      { path: to, errno: "ENOTEMPTY" },
    );
  }

  /** Deletes something with everything in it, except what the filter protects. False if that has kept something. */
  async delete({ to, path }: Place, there: Found, signal: AbortSignal): Promise<boolean> {
    const { kind } = there;
    if (kind === "directory" && (await this.#protects({ to, path }, signal))) {
      for (const [name, found] of await this.listExisting(to, signal)) {
        const inner = this.#inner({ to, path }, name);
        if (await this.isMeant({ ...found, path: inner.path })) await this.delete(inner, found, signal);
      }
      return false;
    }
    this.report("delete", path, kind);
    if (this.#options.dryRun !== true)
      await (kind === "directory"
        ? this.#destination.removeDirectory(to, "with contents", signal)
        : this.#destination.remove(to, signal));
    this.#copy.copied("deleted", path);
    return true;
  }

  /** Whether the filter protects something below a directory. */
  async #protects(place: Place, signal: AbortSignal): Promise<boolean> {
    if (this.#copy.options.filter === undefined) return false;
    for (const [name, found] of await this.listExisting(place.to, signal)) {
      const inner = this.#inner(place, name);
      if (!(await this.isMeant({ ...found, path: inner.path }))) return true;
      if (found.kind === "directory" && (await this.#protects(inner, signal))) return true;
    }
    return false;
  }

  #inner({ to, path }: Place, name: string): Place {
    return { to: this.#destination.child(to, name), path: joinRelative(path, name) };
  }

  report(action: MirrorChange["action"], path: string, kind: MirrorChange["kind"], bytes = 0): void {
    this.#options.onChange?.({ action, path, kind, bytes });
  }
}
