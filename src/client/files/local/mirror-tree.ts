import { dirname } from "node:path";
import { ExecError, UsageError } from "../../../base/errors.ts";
import { FileError, fileError, ifPresent, isMissing } from "../file-error.ts";
import { isName } from "../file-path.ts";
import type { MirrorOptions, TreeResult } from "../trees.ts";
import { FileCopy } from "./file-copy.ts";
import { MirroredSide, type Visit } from "./mirrored-side.ts";
import { type Part, partOf, planDirectory, type Step, type Wanted } from "./mirror-plan.ts";
import type { EntryInfo, Job, Listed, Entry, Seen } from "./sides.ts";
import type { Task } from "./task-stack.ts";
import { ChangedFileError, joinRelative, notADirectory, type TreeCopy } from "./tree-copy.ts";

/** Maximum number of copies of a file that changes during the copy. */
const MAX_ATTEMPTS = 3;
/** Maximum length of a system's path. Only a server that invents directories has longer ones. */
const MAX_PATH_LENGTH = 4096;
const EVERYTHING: Part = {};
const NOTHING: Seen = new Map();

type PutStep = Exclude<Step, { action: "delete" }>;

/** The source is empty, so that everything in the destination would be deleted. */
export class EmptySourceError extends FileError {}

/** Makes a directory match the source. */
export class Mirror {
  readonly #copy: TreeCopy;
  readonly #files: FileCopy;
  readonly #options: MirrorOptions;
  readonly #side: MirroredSide;

  constructor(copy: TreeCopy) {
    const options = copy.options.mirror ?? {};
    this.#copy = copy;
    this.#files = new FileCopy(copy);
    this.#options = options;
    this.#side = new MirroredSide(copy, this.#files);
    if (copy.symlinks !== "keep") throw new UsageError("a mirror keeps symlinks");
    for (const path of options.only ?? [])
      if (path !== "" && !path.split("/").every(isName))
        throw new UsageError(`not a path below a directory: ${JSON.stringify(path)}`);
    if (!this.#files.resumes) throw new ExecError("UNSUPPORTED", "this server does not have fs/hash");
  }

  async run(from: string, to: string): Promise<TreeResult> {
    const { only } = this.#options;
    const { operation, source, destination, signal } = this.#copy;
    const { path, info } = await source.start(from, signal);
    if (info.kind !== "directory") throw notADirectory(operation, from);
    const root = await destination.findRoot(to, signal);
    const visit: Visit = {
      from: path,
      to: root?.path ?? to,
      path: "",
      info,
      existing: root && (root.isUnfinished ? "unfinished root" : "root"),
      part: only === undefined ? EVERYTHING : partOf(only),
    };
    return this.#copy.run((push, later) => this.#directory(visit, push, later), this.#files);
  }

  /** A source that is not mounted, or was emptied by mistake, must not empty the destination. */
  async #checkNotEmpty({ from }: Visit, listed: readonly Listed[], signal: AbortSignal): Promise<void> {
    if (this.#options.deleteAll === true) return;
    for (const entry of listed) {
      if (entry.refused !== undefined) return;
      const info = await this.#describe(from, entry, signal);
      if (info !== undefined && (await this.#side.isIncluded({ path: entry.name, ...info }))) return;
    }
    throw new EmptySourceError(
      "INVALID_INPUT",
      `${this.#copy.operation} ${from}: it is empty, so everything in the destination would be deleted`,
      { path: from },
    );
  }

  async #directory(visit: Visit, push: (task: Task) => void, signal: AbortSignal): Promise<void> {
    const { from, path, existing } = visit;
    const { operation, source, destination } = this.#copy;
    const deletes = this.#options.delete === true;
    if (path.length > MAX_PATH_LENGTH)
      throw fileError("OS_ERROR", operation, from, "the path is too long", "ENAMETOOLONG");
    const part = existing === undefined ? EVERYTHING : visit.part;
    const only = part.inner === undefined ? undefined : new Set(part.inner.keys());
    // Listed before it is created, so that a directory that cannot be read changes nothing.
    const listed = (await source.list(from, signal)).filter(({ name }) => !destination.isUnfinished(name));
    const wanted = await this.#wanted(visit, listed, only, signal);
    const to = await this.#side.prepare(visit, signal);
    const seen = existing === undefined ? NOTHING : await this.#side.listExisting(to, signal);
    const kept = new Set(listed.map(({ name }) => name));
    if (deletes)
      for (const [name, info] of seen)
        if (
          only?.has(name) !== false &&
          !(await this.#side.isIncluded({ path: joinRelative(path, name), ...info }))
        )
          kept.add(name);
    const steps = planDirectory({ wanted, seen, kept, deletes, only });
    if (path === "" && steps.some(({ action }) => action === "delete"))
      await this.#checkNotEmpty(visit, listed, signal);
    // The last one pushed is the first one taken.
    for (const step of steps.reverse()) {
      const { name } = step;
      const entry = this.#copy.child({ from, to, path }, name);
      if (step.action === "delete")
        this.#copy.deleteLater(entry.path, async (later) => {
          await this.#side.delete(entry, step.existing, later);
        });
      else {
        const inner = part.inner?.get(name) ?? EVERYTHING;
        push((pushMore, later) =>
          this.#attempt(step, entry, later, () => this.#put(step, entry, inner, seen, pushMore, later)),
        );
      }
    }
  }

  /** Entries of the source that are to be in the destination. */
  async #wanted(
    { from, path }: Visit,
    listed: readonly Listed[],
    only: ReadonlySet<string> | undefined,
    signal: AbortSignal,
  ): Promise<Wanted[]> {
    const wanted: Wanted[] = [];
    for (const entry of listed) {
      const { name } = entry;
      if (only !== undefined && !only.has(name)) continue;
      const inner = joinRelative(path, name);
      await this.#copy.attempt(inner, async () => {
        const info = await this.#describe(from, entry, signal);
        if (info === undefined) return;
        const { kind, size } = info;
        if (await this.#copy.takes({ path: inner, kind, size })) wanted.push({ name, info });
      });
    }
    return wanted;
  }

  /** Undefined if it has vanished. */
  async #describe(directory: string, listed: Listed, signal: AbortSignal): Promise<EntryInfo | undefined> {
    const { source } = this.#copy;
    return ifPresent(source.describe(source.child(directory, listed.name), listed, signal));
  }

  async #put(
    step: PutStep,
    entry: Entry,
    part: Part,
    seen: Seen,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (step.action === "file") await this.#file(step, entry, seen, signal);
    else if (step.action === "link") await this.#link(step, entry, signal);
    else {
      const { info, existing, mustReplace } = step;
      if (mustReplace) await this.#side.clear(entry, existing, signal);
      const visit = { ...entry, info, existing: mustReplace ? undefined : existing, part };
      push((pushMore, later) =>
        this.#attempt(step, entry, later, () => this.#directory(visit, pushMore, later)),
      );
    }
  }

  /** A file that vanishes during the copy is not an error: it is no longer in the source. */
  async #attempt(
    { action, name }: PutStep,
    { from, path }: Entry,
    signal: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    const { source } = this.#copy;
    const isGone = (): Promise<boolean> =>
      // A link is there even if it leads nowhere.
      (action === "link" ? source.readLink(from, signal) : source.describe(from, { name }, signal)).then(
        () => false,
        isMissing,
      );
    await this.#copy.attempt(path, () =>
      work().catch(async (error: unknown) => {
        if (!(error instanceof FileError) || !(await isGone())) throw error;
      }),
    );
  }

  /** A file that is changed meanwhile is copied again. */
  async #file(step: PutStep, entry: Entry, seen: Seen, signal: AbortSignal): Promise<void> {
    const { existing, mustReplace } = step;
    let { info } = step;
    if (
      existing !== undefined &&
      !mustReplace &&
      (await this.#files.hasSameContents({ ...entry, info }, existing, signal))
    ) {
      await this.#keep({ ...entry, info }, existing, signal);
      return;
    }
    this.#side.report("copy", entry.path, "file", info.size);
    if (mustReplace) await this.#side.clear(entry, existing, signal);
    if (this.#options.dryRun === true) this.#copy.copiedBytes(info.size, entry.path);
    else {
      for (let attempt = 1; ; attempt += 1) {
        try {
          // An earlier attempt may have left a part of what the file was.
          const now = attempt === 1 ? seen : await this.#side.listExisting(dirname(entry.to), signal);
          await this.#files.run({ ...entry, info }, now, signal);
          break;
        } catch (error) {
          if (!(error instanceof ChangedFileError) || attempt === MAX_ATTEMPTS) throw error;
          const now = await this.#copy.source.describe(entry.from, { name: step.name }, signal);
          if (now.kind !== "file") throw error;
          info = { ...info, size: now.size };
        }
      }
    }
    this.#copy.copied("files", entry.path);
  }

  async #keep(job: Job, existing: EntryInfo, signal: AbortSignal): Promise<void> {
    const mode = this.#files.missingMode(job.info, existing);
    if (mode !== undefined) {
      this.#side.report("mode", job.path, "file");
      if (this.#options.dryRun !== true) await this.#copy.destination.setMode(job.to, "file", mode, signal);
    }
    this.#copy.keptBytes(job.info.size, job.path);
    this.#copy.copied("same", job.path);
  }

  async #link(step: PutStep, entry: Entry, signal: AbortSignal): Promise<void> {
    const { from, to, path } = entry;
    const target = await this.#copy.readLink(from, signal);
    if (step.existing?.kind === "link" && (await this.#copy.destination.readLink(to, signal)) === target) {
      this.#copy.copied("same", path);
      return;
    }
    this.#side.report("link", path, "link");
    if (step.mustReplace) await this.#side.clear(entry, step.existing, signal);
    if (this.#options.dryRun === true) this.#copy.copied("links", path);
    else this.#copy.linkLater(target, entry);
  }
}
