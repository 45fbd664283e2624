import { basename } from "node:path";
import { FileError } from "../file-error.ts";
import type { CopyEnd, CopyKind, TreeOptions, TreeResult } from "../trees.ts";
import { FileCopy } from "./file-copy.ts";
import { LocalDestination } from "./local-destination.ts";
import { LocalSource } from "./local-source.ts";
import { Mirror } from "./mirror-tree.ts";
import { RemoteDestination } from "./remote-destination.ts";
import { RemoteSource } from "./remote-source.ts";
import type {
  Destination,
  DirectoryOptions,
  Found,
  Job,
  Listed,
  MadeDirectory,
  Seen,
  Source,
} from "./sides.ts";
import type { Task } from "./task-stack.ts";
import { checkLocalPath, endlessLink, joinRelative, noLinks, notADirectory, TreeCopy } from "./tree-copy.ts";

/** What is known about the directory that an entry goes to. */
interface Parent {
  readonly isNew: boolean;
  /** Identities of the directories of the source that lead here. Empty unless links are followed. */
  readonly above: ReadonlySet<string>;
  /** What the directory has; undefined if it is not known. */
  readonly seen: Seen | undefined;
}

const NOTHING: Seen = new Map();

/** Copies a file, or a directory with its contents, from one machine to another, or to the same. */
export async function copyTree(
  from: CopyEnd,
  to: CopyEnd,
  { operation, only }: CopyKind,
  options: TreeOptions,
): Promise<TreeResult> {
  for (const end of [from, to]) if (end.access === undefined) checkLocalPath(end.path);
  const { mirror } = options;
  const copy = new TreeCopy(
    mirror === undefined ? options : { ...options, resume: true, remoteLinks: "replace" },
  );
  const source =
    from.access === undefined
      ? new LocalSource(operation, { follow: copy.symlinks === "follow" })
      : new RemoteSource(operation, from.access);
  const destination =
    to.access === undefined
      ? new LocalDestination(operation)
      : new RemoteDestination(operation, to.access, { followsLinks: copy.options.remoteLinks !== "replace" });
  if (mirror === undefined)
    return new Copier(operation, copy, source, destination).run(from.path, to.path, only);
  return new Mirror(operation, copy, [source, destination]).run(from.path, to.path);
}

class Copier {
  readonly #operation: string;
  readonly #copy: TreeCopy;
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #files: FileCopy;

  constructor(operation: string, copy: TreeCopy, source: Source, destination: Destination) {
    this.#operation = operation;
    this.#copy = copy;
    this.#source = source;
    this.#destination = destination;
    this.#files = new FileCopy(operation, copy, source, destination);
  }

  async run(from: string, to: string, only: "directory" | undefined): Promise<TreeResult> {
    const signal = this.#copy.options.signal ?? new AbortController().signal;
    const { path, found } = await this.#source.start(from, signal);
    const isDirectory = found.kind === "directory";
    if (!isDirectory && only === "directory") throw notADirectory(this.#operation, from);
    const result = await this.#copy.run(
      isDirectory
        ? await this.#tree({ from: path, to, path: "", found }, signal)
        : this.#single(from, { from: path, to, path: "", found }),
    );
    return this.#copy.options.verify === true ? { ...result, verified: this.#files.verifies } : result;
  }

  async #tree(job: Job, signal: AbortSignal): Promise<Task> {
    const identity = await this.#identify(job.from, signal);
    const make = (later: AbortSignal): Promise<MadeDirectory> =>
      this.#destination.makeRoot(job.to, this.#directoryOptions(job.found, false), later);
    return (push, later) => this.#directory(job, make, new Set(identity), push, later);
  }

  #single(named: string, job: Job): Task {
    const { kind } = job.found;
    if (kind !== "file")
      throw new FileError(
        "INVALID_INPUT",
        `${this.#operation} ${named}: it is neither a file nor a directory`,
        {
          path: named,
        },
      );
    return async (_, signal) => {
      const { path: to, directory } = await this.#destination.locateFile(job.to);
      const path = basename(named);
      if (!(await this.#copy.takes({ path, kind, size: job.found.size }))) return;
      // A directory with too many entries is not looked at; then the file is copied in any case.
      const seen = await this.#listExisting(directory, signal).catch(() => undefined);
      await this.#file({ ...job, to, path }, basename(to), seen, signal);
    };
  }

  async #directory(
    job: Job,
    make: (signal: AbortSignal) => Promise<MadeDirectory>,
    above: ReadonlySet<string>,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { from, path, found } = job;
    // Listed before it is created, so that a copy into the directory itself does not find itself.
    const entries = await this.#source.list(from, signal);
    const { path: to, isNew, isUnfinished } = await make(signal);
    const mode = this.#files.modeOf(found);
    if ((isNew || isUnfinished) && mode !== undefined) {
      this.#copy.keepsMode(found.mode, path);
      this.#copy.setModeLater(path, (later) => this.#destination.setMode(to, "directory", mode, later));
    }
    this.#copy.copied("directories", path);
    const parent = { isNew, above, seen: isNew ? NOTHING : await this.#listExisting(to, signal) };
    // The last one pushed is the first one taken. A copy into the tree itself would find its own unfinished files.
    for (const listed of entries.filter(({ name }) => !this.#destination.isUnfinished(name)).reverse()) {
      const { name } = listed;
      const place = {
        from: this.#source.child(from, name),
        to: this.#destination.child(to, name),
        path: joinRelative(path, name),
      };
      push((pushMore, later) =>
        this.#copy.attempt(place.path, () => this.#entry(place, listed, parent, pushMore, later)),
      );
    }
  }

  /** Looks at a directory of the destination, if that is of use. */
  async #listExisting(directory: string, signal: AbortSignal): Promise<Seen | undefined> {
    if (!this.#files.resumes && !this.#files.replacesLinks) return undefined;
    return this.#destination.listExisting(directory, signal);
  }

  async #entry(
    place: Omit<Job, "found">,
    listed: Listed,
    parent: Parent,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { from, path } = place;
    const own = await this.#source.describe(from, listed, signal);
    const isLink = own.kind === "link";
    if (isLink && this.#copy.symlinks === "skip") return;
    const found = isLink && this.#copy.symlinks === "follow" ? await this.#source.follow(from, signal) : own;
    if (!(await this.#copy.takes({ path, kind: found.kind, size: found.size }))) return;
    const job = { ...place, found };
    if (found.kind === "link") await this.#linkLater(job, signal);
    else if (found.kind === "file") await this.#file(job, listed.name, parent.seen, signal);
    else {
      const identity = await this.#identify(from, signal);
      if (identity.some((known) => parent.above.has(known))) throw endlessLink(this.#operation, from);
      const options = this.#directoryOptions(found, parent.isNew);
      const make = (later: AbortSignal): Promise<MadeDirectory> =>
        this.#destination.makeDirectory(job.to, options, later);
      const above = new Set([...parent.above, ...identity]);
      push((pushMore, later) =>
        this.#copy.attempt(path, () => this.#directory(job, make, above, pushMore, later)),
      );
    }
  }

  /** Only links can lead back. */
  async #identify(directory: string, signal: AbortSignal): Promise<string[]> {
    return this.#copy.symlinks === "follow" ? [await this.#source.identify(directory, signal)] : [];
  }

  async #linkLater({ from, to, path }: Job, signal: AbortSignal): Promise<void> {
    if (!this.#source.knowsLinks || !this.#destination.knowsLinks) throw noLinks(this.#operation, from);
    const target = await this.#source.readLink(from, signal);
    this.#copy.linkLater(path, (later) => this.#destination.link(target, to, later));
  }

  async #file(job: Job, name: string, seen: Seen | undefined, signal: AbortSignal): Promise<void> {
    const there = seen?.get(name);
    if (this.#files.replacesLinks && there?.kind === "link") await this.#destination.remove(job.to, signal);
    if (there !== undefined && (await this.#files.isThere(job, there, signal))) {
      const mode = this.#files.missingMode(job.found, there);
      if (mode !== undefined) await this.#destination.setMode(job.to, "file", mode, signal);
      this.#copy.keptBytes(job.found.size, job.path);
    } else await this.#files.run(job, seen, signal);
    this.#copy.copied("files", job.path);
  }

  #directoryOptions(found: Found, isParentNew: boolean): DirectoryOptions {
    return { mode: this.#files.modeOf(found), resumes: this.#files.resumes, isParentNew };
  }
}
