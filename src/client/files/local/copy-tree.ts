import { basename } from "node:path";
import { checkText } from "../../../base/system-text.ts";
import { fileError } from "../file-error.ts";
import type { CopyEnd, CopyKind, TreeOptions, TreeResult } from "../trees.ts";
import { FileCopy } from "./file-copy.ts";
import { LocalDestination } from "./local-destination.ts";
import { LocalSource } from "./local-source.ts";
import { Mirror } from "./mirror-tree.ts";
import { RemoteDestination } from "./remote-destination.ts";
import { RemoteSource } from "./remote-source.ts";
import type { DirectoryOptions, EntryInfo, Job, Listed, MadeDirectory, Entry, Seen } from "./sides.ts";
import type { Task } from "./task-stack.ts";
import { notADirectory, TreeCopy } from "./tree-copy.ts";

/** The directory that an entry is copied to. */
interface Parent {
  readonly isNew: boolean;
  /** Identities of the directories of the source that lead here. Empty unless links are followed. */
  readonly above: ReadonlySet<string>;
  /** Its entries; undefined if they are not known. */
  readonly seen: Seen | undefined;
}

const NOTHING: Seen = new Map();

/** Copies a file, or a directory with its contents, from one machine to another, or to the same. */
export async function copyTree(
  from: CopyEnd,
  to: CopyEnd,
  { operation, only }: CopyKind,
  requested: TreeOptions,
): Promise<TreeResult> {
  for (const { access, path } of [from, to]) if (access === undefined) checkText("a local path", path);
  const isMirror = requested.mirror !== undefined;
  const options = isMirror ? { ...requested, resume: true, remoteLinks: "replace" as const } : requested;
  const source =
    from.access === undefined
      ? new LocalSource(operation, { follow: options.symlinks === "follow" })
      : new RemoteSource(operation, from.access);
  const destination =
    to.access === undefined
      ? new LocalDestination(operation)
      : new RemoteDestination(operation, to.access, { followsLinks: options.remoteLinks !== "replace" });
  const copy = new TreeCopy(operation, source, destination, options);
  return isMirror ? new Mirror(copy).run(from.path, to.path) : new Copier(copy).run(from.path, to.path, only);
}

class Copier {
  readonly #copy: TreeCopy;
  readonly #files: FileCopy;

  constructor(copy: TreeCopy) {
    this.#copy = copy;
    this.#files = new FileCopy(copy);
  }

  async run(from: string, to: string, only: "directory" | undefined): Promise<TreeResult> {
    const { operation, source, signal } = this.#copy;
    const { path, info } = await source.start(from, signal);
    const isDirectory = info.kind === "directory";
    if (!isDirectory && only === "directory") throw notADirectory(operation, from);
    const job = { from: path, to, path: "", info };
    return this.#copy.run(isDirectory ? await this.#tree(job, signal) : this.#single(from, job), this.#files);
  }

  async #tree(job: Job, signal: AbortSignal): Promise<Task> {
    const identity = await this.#identify(job.from, signal);
    const make = (later: AbortSignal): Promise<MadeDirectory> =>
      this.#copy.destination.makeRoot(job.to, this.#directoryOptions(job.info, false), later);
    return (push, later) => this.#directory(job, make, new Set(identity), push, later);
  }

  #single(named: string, job: Job): Task {
    const { kind } = job.info;
    if (kind !== "file")
      throw fileError("INVALID_INPUT", this.#copy.operation, named, "it is neither a file nor a directory");
    return async (_, signal) => {
      const { path: to, directory } = await this.#copy.destination.locateFile(job.to);
      const path = basename(named);
      if (!(await this.#copy.takes({ path, kind, size: job.info.size }))) return;
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
    const { from, path, info } = job;
    const { source, destination } = this.#copy;
    // Listed before it is created, so that a copy into the directory itself does not find itself.
    const entries = await source.list(from, signal);
    const { path: to, isNew, isUnfinished } = await make(signal);
    const mode = this.#files.modeOf(info);
    if ((isNew || isUnfinished) && mode !== undefined) {
      this.#copy.keepsMode(info.mode, path);
      this.#copy.setModeLater({ to, path }, mode);
    }
    this.#copy.copied("directories", path);
    const parent = { isNew, above, seen: isNew ? NOTHING : await this.#listExisting(to, signal) };
    // The last one pushed is the first one taken. A copy into the tree itself would find its own unfinished files.
    for (const listed of entries.filter(({ name }) => !destination.isUnfinished(name)).reverse()) {
      const entry = this.#copy.child({ from, to, path }, listed.name);
      push((pushMore, later) =>
        this.#copy.attempt(entry.path, () => this.#entry(entry, listed, parent, pushMore, later)),
      );
    }
  }

  /** Looks at a directory of the destination, if that is of use. */
  async #listExisting(directory: string, signal: AbortSignal): Promise<Seen | undefined> {
    if (!this.#files.resumes && !this.#files.replacesLinks) return undefined;
    return this.#copy.destination.listExisting(directory, signal);
  }

  async #entry(
    entry: Entry,
    listed: Listed,
    parent: Parent,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { from, path } = entry;
    const { operation, source, destination, symlinks } = this.#copy;
    const own = await source.describe(from, listed, signal);
    const isLink = own.kind === "link";
    if (isLink && symlinks === "skip") return;
    const info = isLink && symlinks === "follow" ? await source.follow(from, signal) : own;
    if (!(await this.#copy.takes({ path, kind: info.kind, size: info.size }))) return;
    const job = { ...entry, info };
    if (info.kind === "link") this.#copy.linkLater(await this.#copy.readLink(from, signal), entry);
    else if (info.kind === "file") await this.#file(job, listed.name, parent.seen, signal);
    else {
      const identity = await this.#identify(from, signal);
      if (identity.some((known) => parent.above.has(known)))
        throw fileError(
          "OS_ERROR",
          operation,
          from,
          "the link points to a directory that contains it",
          "ELOOP",
        );
      const options = this.#directoryOptions(info, parent.isNew);
      const make = (later: AbortSignal): Promise<MadeDirectory> =>
        destination.makeDirectory(job.to, options, later);
      const above = new Set([...parent.above, ...identity]);
      push((pushMore, later) =>
        this.#copy.attempt(path, () => this.#directory(job, make, above, pushMore, later)),
      );
    }
  }

  /** Only links can lead back to it. */
  async #identify(directory: string, signal: AbortSignal): Promise<string[]> {
    return this.#copy.symlinks === "follow" ? [await this.#copy.source.identify(directory, signal)] : [];
  }

  async #file(job: Job, name: string, seen: Seen | undefined, signal: AbortSignal): Promise<void> {
    const { destination } = this.#copy;
    const existing = seen?.get(name);
    if (this.#files.replacesLinks && existing?.kind === "link") await destination.remove(job.to, signal);
    if (existing !== undefined && (await this.#files.hasSameContents(job, existing, signal))) {
      const mode = this.#files.missingMode(job.info, existing);
      if (mode !== undefined) await destination.setMode(job.to, "file", mode, signal);
      this.#copy.keptBytes(job.info.size, job.path);
    } else await this.#files.run(job, seen, signal);
    this.#copy.copied("files", job.path);
  }

  #directoryOptions(info: EntryInfo, isParentNew: boolean): DirectoryOptions {
    return { mode: this.#files.modeOf(info), resumes: this.#files.resumes, isParentNew };
  }
}
