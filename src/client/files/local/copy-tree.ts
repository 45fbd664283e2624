import { createHash } from "node:crypto";
import { basename } from "node:path";
import { FileError } from "../file-error.ts";
import type { CopyEnd, CopyKind, TreeOptions, TreeResult } from "../trees.ts";
import { LargeCopy } from "./large-copy.ts";
import { LocalDestination } from "./local-destination.ts";
import { LocalSource } from "./local-source.ts";
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
import {
  checkLocalPath,
  COPIED_MODE_BITS,
  differs,
  endlessLink,
  joinRelative,
  noLinks,
  notADirectory,
  SMALL_FILE_BYTES,
  TreeCopy,
} from "./tree-copy.ts";

/** How often a small file is copied again because its hash differs: it may have been changed meanwhile. */
const MAX_ATTEMPTS = 3;

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
  const copy = new TreeCopy(options);
  const source =
    from.access === undefined
      ? new LocalSource(operation, { follow: copy.symlinks === "follow" })
      : new RemoteSource(operation, from.access);
  const destination =
    to.access === undefined
      ? new LocalDestination(operation)
      : new RemoteDestination(operation, to.access, { followsLinks: options.remoteLinks !== "replace" });
  return new Copier(operation, copy, source, destination).run(from.path, to.path, only);
}

class Copier {
  readonly #operation: string;
  readonly #copy: TreeCopy;
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #modes: boolean;
  readonly #resumes: boolean;
  readonly #verifies: boolean;
  readonly #replacesLinks: boolean;

  constructor(operation: string, copy: TreeCopy, source: Source, destination: Destination) {
    this.#operation = operation;
    this.#copy = copy;
    this.#source = source;
    this.#destination = destination;
    const { modes = true, resume = false, verify = false, remoteLinks = "follow" } = copy.options;
    const canHash = source.hasher !== undefined && destination.hasher !== undefined;
    this.#modes = modes && source.knowsModes && destination.knowsModes;
    this.#resumes = resume && canHash;
    this.#verifies = verify && canHash;
    this.#replacesLinks = destination.isRemote && remoteLinks === "replace";
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
    return this.#copy.options.verify === true ? { ...result, verified: this.#verifies } : result;
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
      const seen = await this.#look(directory, signal).catch(() => undefined);
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
    const mode = this.#modeOf(found);
    if ((isNew || isUnfinished) && mode !== undefined)
      this.#copy.setModeLater(path, (later) => this.#destination.setMode(to, "directory", mode, later));
    this.#copy.copied("directories", path);
    const parent = { isNew, above, seen: isNew ? NOTHING : await this.#look(to, signal) };
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
  async #look(directory: string, signal: AbortSignal): Promise<Seen | undefined> {
    if (!this.#resumes && !this.#replacesLinks) return undefined;
    return this.#destination.look(directory, signal);
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
    if (this.#replacesLinks && there?.kind === "link") await this.#destination.remove(job.to, signal);
    const isLarge = job.found.size > SMALL_FILE_BYTES;
    if (there !== undefined && (await this.#isThere(job, there, isLarge, signal))) {
      this.#copy.keptBytes(job.found.size, job.path);
    } else if (isLarge || !(await this.#small(job, signal))) {
      await this.#copy.largeFile(signal, () => this.#large(job, seen, signal));
    }
    this.#copy.copied("files", job.path);
  }

  /** Whether an earlier copy is complete. */
  async #isThere(
    { from, to, found }: Job,
    there: Found,
    isLarge: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!this.#resumes || there.kind !== "file" || there.size !== found.size) return false;
    const range = isLarge ? { offset: 0, length: found.size } : undefined;
    const [sent, arrived] = await Promise.all([
      this.#source.hasher?.hash(from, range, signal),
      this.#destination.hasher?.hash(to, range, signal),
    ]);
    if (sent === undefined || sent !== arrived) return false;
    const mode = this.#modeOf(found);
    if (mode !== undefined && there.mode !== undefined && (there.mode & COPIED_MODE_BITS) !== mode)
      await this.#destination.setMode(to, "file", mode, signal);
    return true;
  }

  /** False if it has become a large file. */
  async #small(job: Job, signal: AbortSignal): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const bytes = await this.#source.readSmall(job.from, job.found.size, signal);
      if (bytes === undefined) return false;
      await this.#destination.writeSmall(job.to, bytes, this.#modeOf(job.found), signal);
      if (!this.#verifies || (await this.#isSame(bytes, job, signal))) {
        this.#copy.copiedBytes(bytes.length, job.path);
        return true;
      }
      if (attempt === MAX_ATTEMPTS) throw differs(this.#operation, job.to);
    }
  }

  /** Compares bytes with what the servers have. */
  async #isSame(bytes: Uint8Array, { from, to }: Job, signal: AbortSignal): Promise<boolean> {
    const expected = createHash("sha256").update(bytes).digest("hex");
    const hashes = await Promise.all([
      this.#source.isRemote ? this.#source.hasher?.hash(from, undefined, signal) : expected,
      this.#destination.isRemote ? this.#destination.hasher?.hash(to, undefined, signal) : expected,
    ]);
    return hashes.every((hash) => hash === expected);
  }

  async #large(job: Job, seen: Seen | undefined, signal: AbortSignal): Promise<void> {
    const large = new LargeCopy({
      operation: this.#operation,
      copy: this.#copy,
      source: this.#source,
      destination: this.#destination,
      verifies: this.#verifies,
      resumes: this.#resumes && this.#destination.keepsParts,
      mode: this.#modeOf(job.found),
      job,
    });
    await large.run(signal);
    await large.removeOldParts(seen, signal);
  }

  #directoryOptions(found: Found, isParentNew: boolean): DirectoryOptions {
    return { mode: this.#modeOf(found), resumes: this.#resumes, isParentNew };
  }

  #modeOf({ mode }: Found): number | undefined {
    return this.#modes && mode !== undefined ? mode & COPIED_MODE_BITS : undefined;
  }
}
