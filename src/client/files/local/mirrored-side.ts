import { ExecError } from "../../../base/errors.ts";
import { FileError } from "../file-error.ts";
import type { MirrorChange, MirrorOptions, TreeEntry } from "../trees.ts";
import type { Destination, Found, Job, Seen } from "./sides.ts";
import { joinRelative, type TreeCopy } from "./tree-copy.ts";

type Place = Pick<Job, "to" | "path">;

/** The destination of a mirror: what is there, and what must go. */
export class MirroredSide {
  readonly #operation: string;
  readonly #copy: TreeCopy;
  readonly #destination: Destination;
  readonly #options: MirrorOptions;

  constructor(operation: string, copy: TreeCopy, destination: Destination, options: MirrorOptions) {
    this.#operation = operation;
    this.#copy = copy;
    this.#destination = destination;
    this.#options = options;
  }

  /** Whether the filter lets an entry be copied, or deleted. */
  async isMeant({ path, kind, size }: TreeEntry): Promise<boolean> {
    const { filter } = this.#copy.options;
    return filter === undefined || filter({ path, kind, size });
  }

  async look(directory: string, signal: AbortSignal): Promise<Seen> {
    const seen = await this.#destination.look(directory, signal);
    if (seen === undefined)
      throw new ExecError("UNSUPPORTED", "this server does not have fs/readDirectory.detailed");
    return seen;
  }

  /** Removes what is in the place of something of another kind. */
  async clear({ to, path }: Place, there: Found | undefined, signal: AbortSignal): Promise<void> {
    const isDry = this.#options.dryRun === true;
    if (there?.kind !== "directory") {
      if (!isDry) await this.#destination.remove(to, signal);
      return;
    }
    const isEmpty = (await this.look(to, signal)).size === 0;
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
      for (const [name, found] of await this.look(to, signal)) {
        const inner = this.#inner({ to, path }, name);
        if (await this.isMeant({ ...found, path: inner.path })) await this.delete(inner, found, signal);
      }
      return false;
    }
    this.tell("delete", path, kind);
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
    for (const [name, found] of await this.look(place.to, signal)) {
      const inner = this.#inner(place, name);
      if (!(await this.isMeant({ ...found, path: inner.path }))) return true;
      if (found.kind === "directory" && (await this.#protects(inner, signal))) return true;
    }
    return false;
  }

  #inner({ to, path }: Place, name: string): Place {
    return { to: this.#destination.child(to, name), path: joinRelative(path, name) };
  }

  tell(action: MirrorChange["action"], path: string, kind: MirrorChange["kind"], bytes = 0): void {
    this.#options.onChange?.({ action, path, kind, bytes });
  }
}
