import { dirname } from "node:path";
import { ExecError, UsageError } from "../../../base/errors.ts";
import { FileError } from "../file-error.ts";
import { isName } from "../file-path.ts";
import type { MirrorOptions, TreeResult } from "../trees.ts";
import { FileCopy } from "./file-copy.ts";
import { emptySource, pathTooLong } from "./mirror-errors.ts";
import { MirroredSide, type Visit } from "./mirrored-side.ts";
import { type Part, partOf, planDirectory, type Step, type Wanted } from "./mirror-plan.ts";
import { type Destination, type Found, type Job, type Listed, type Seen, type Source } from "./sides.ts";
import type { Task } from "./task-stack.ts";
import { ChangedFileError, joinRelative, noLinks, notADirectory, type TreeCopy } from "./tree-copy.ts";

/** How often a file that is changed while it is copied is copied. */
const MAX_ATTEMPTS = 3;
/** What a system takes as a path. Only a server that invents directories has longer ones. */
const MAX_PATH_LENGTH = 4096;
const EVERYTHING: Part = {};
const NOTHING: Seen = new Map();

type Place = Omit<Job, "found">;
type PutStep = Exclude<Step, { action: "delete" }>;

/** Makes a directory like that of the source. */
export class Mirror {
  readonly #operation: string;
  readonly #copy: TreeCopy;
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #files: FileCopy;
  readonly #options: MirrorOptions;
  readonly #there: MirroredSide;
  readonly #deletes: boolean;
  readonly #isDry: boolean;

  constructor(operation: string, copy: TreeCopy, [source, destination]: readonly [Source, Destination]) {
    const options = copy.options.mirror ?? {};
    this.#operation = operation;
    this.#copy = copy;
    this.#source = source;
    this.#destination = destination;
    this.#files = new FileCopy(operation, copy, source, destination);
    this.#options = options;
    this.#there = new MirroredSide(operation, copy, this.#files, destination);
    this.#deletes = options.delete ?? false;
    this.#isDry = options.dryRun ?? false;
    if (copy.symlinks !== "keep") throw new UsageError("a mirror keeps symlinks");
    for (const path of options.only ?? [])
      if (path !== "" && !path.split("/").every(isName))
        throw new UsageError(`not a path below a directory: ${JSON.stringify(path)}`);
    if (!this.#files.resumes) throw new ExecError("UNSUPPORTED", "this server does not have fs/hash");
  }

  async run(from: string, to: string): Promise<TreeResult> {
    const { only } = this.#options;
    const signal = this.#copy.options.signal ?? new AbortController().signal;
    const { path, found } = await this.#source.start(from, signal);
    if (found.kind !== "directory") throw notADirectory(this.#operation, from);
    const root = await this.#destination.findRoot(to, signal);
    const visit: Visit = {
      from: path,
      to: root?.path ?? to,
      path: "",
      found,
      there: root && (root.isUnfinished ? "unfinished root" : "root"),
      part: only === undefined ? EVERYTHING : partOf(only),
    };
    const result = await this.#copy.run((push, later) => this.#directory(visit, push, later));
    return this.#copy.options.verify === true ? { ...result, verified: this.#files.verifies } : result;
  }

  /** A source that is not mounted, or was emptied by mistake, must not empty the destination. */
  async #checkNotEmpty({ from }: Visit, listed: readonly Listed[], signal: AbortSignal): Promise<void> {
    if (this.#options.deleteAll === true) return;
    for (const entry of listed) {
      if (entry.refused !== undefined) return;
      const found = await this.#describe(this.#source.child(from, entry.name), entry, signal);
      if (found !== undefined && (await this.#there.isMeant({ path: entry.name, ...found }))) return;
    }
    throw emptySource(this.#operation, from);
  }

  async #directory(visit: Visit, push: (task: Task) => void, signal: AbortSignal): Promise<void> {
    const { from, path, there } = visit;
    if (path.length > MAX_PATH_LENGTH) throw pathTooLong(this.#operation, from);
    const part = there === undefined ? EVERYTHING : visit.part;
    const only = part.inner === undefined ? undefined : new Set(part.inner.keys());
    // Listed before it is created, so that a directory that cannot be read changes nothing.
    const listed = (await this.#source.list(from, signal)).filter(
      ({ name }) => !this.#destination.isUnfinished(name),
    );
    const wanted = await this.#wanted(visit, listed, only, signal);
    const to = await this.#there.prepare(visit, signal);
    const seen = there === undefined ? NOTHING : await this.#there.listExisting(to, signal);
    const kept = new Set(listed.map(({ name }) => name));
    if (this.#deletes)
      for (const [name, found] of seen)
        if (
          only?.has(name) !== false &&
          !(await this.#there.isMeant({ path: joinRelative(path, name), ...found }))
        )
          kept.add(name);
    const steps = planDirectory({ wanted, seen, kept, deletes: this.#deletes, only });
    if (path === "" && steps.some(({ action }) => action === "delete"))
      await this.#checkNotEmpty(visit, listed, signal);
    // The last one pushed is the first one taken.
    for (const step of steps.reverse()) {
      const { name } = step;
      const place = {
        from: this.#source.child(from, name),
        to: this.#destination.child(to, name),
        path: joinRelative(path, name),
      };
      if (step.action === "delete")
        this.#copy.deleteLater(place.path, async (later) => {
          await this.#there.delete(place, step.there, later);
        });
      else {
        const inner = part.inner?.get(name) ?? EVERYTHING;
        push((pushMore, later) =>
          this.#attempt(step, place, later, () => this.#put(step, place, inner, seen, pushMore, later)),
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
        const found = await this.#describe(this.#source.child(from, name), entry, signal);
        if (found === undefined) return;
        const { kind, size } = found;
        if (await this.#copy.takes({ path: inner, kind, size })) wanted.push({ name, found });
      });
    }
    return wanted;
  }

  /** Undefined if it has vanished. */
  async #describe(path: string, listed: Listed, signal: AbortSignal): Promise<Found | undefined> {
    try {
      return await this.#source.describe(path, listed, signal);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #put(
    step: PutStep,
    place: Place,
    part: Part,
    seen: Seen,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (step.action === "file") await this.#file(step, place, seen, signal);
    else if (step.action === "link") await this.#link(step, place, signal);
    else {
      const { found, there, isInTheWay } = step;
      if (isInTheWay) await this.#there.clear(place, there, signal);
      const visit = { ...place, found, there: isInTheWay ? undefined : there, part };
      push((pushMore, later) =>
        this.#attempt(step, place, later, () => this.#directory(visit, pushMore, later)),
      );
    }
  }

  /** A file that vanishes while it is copied is not an error: it is no longer in the source. */
  async #attempt(
    { action, name }: PutStep,
    { from, path }: Place,
    signal: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    const isGone = (): Promise<boolean> =>
      // A link is there even if it leads nowhere.
      (action === "link"
        ? this.#source.readLink(from, signal)
        : this.#source.describe(from, { name }, signal)
      ).then(() => false, isMissing);
    await this.#copy.attempt(path, () =>
      work().catch(async (error: unknown) => {
        if (!(error instanceof FileError) || !(await isGone())) throw error;
      }),
    );
  }

  /** A file that is changed meanwhile is copied again. */
  async #file(step: PutStep, place: Place, seen: Seen, signal: AbortSignal): Promise<void> {
    const { there, isInTheWay } = step;
    let { found } = step;
    if (
      there !== undefined &&
      !isInTheWay &&
      (await this.#files.isThere({ ...place, found }, there, signal))
    ) {
      await this.#keep({ ...place, found }, there, signal);
      return;
    }
    this.#there.report("copy", place.path, "file", found.size);
    if (isInTheWay) await this.#there.clear(place, there, signal);
    if (this.#isDry) this.#copy.copiedBytes(found.size, place.path);
    else {
      for (let attempt = 1; ; attempt += 1) {
        try {
          // An earlier attempt may have left a part of what the file was.
          const now = attempt === 1 ? seen : await this.#there.listExisting(dirname(place.to), signal);
          await this.#files.run({ ...place, found }, now, signal);
          break;
        } catch (error) {
          if (!(error instanceof ChangedFileError) || attempt === MAX_ATTEMPTS) throw error;
          const now = await this.#source.describe(place.from, { name: step.name }, signal);
          if (now.kind !== "file") throw error;
          found = { ...found, size: now.size };
        }
      }
    }
    this.#copy.copied("files", place.path);
  }

  async #keep(job: Job, there: Found, signal: AbortSignal): Promise<void> {
    const mode = this.#files.missingMode(job.found, there);
    if (mode !== undefined) {
      this.#there.report("mode", job.path, "file");
      if (!this.#isDry) await this.#destination.setMode(job.to, "file", mode, signal);
    }
    this.#copy.keptBytes(job.found.size, job.path);
    this.#copy.copied("same", job.path);
  }

  async #link(step: PutStep, place: Place, signal: AbortSignal): Promise<void> {
    const { from, to, path } = place;
    if (!this.#source.knowsLinks || !this.#destination.knowsLinks) throw noLinks(this.#operation, from);
    const target = await this.#source.readLink(from, signal);
    if (step.there?.kind === "link" && (await this.#destination.readLink(to, signal)) === target) {
      this.#copy.copied("same", path);
      return;
    }
    this.#there.report("link", path, "link");
    if (step.isInTheWay) await this.#there.clear(place, step.there, signal);
    if (this.#isDry) this.#copy.copied("links", path);
    else this.#copy.linkLater(path, (later) => this.#destination.link(target, to, later));
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof FileError && error.code === "NOT_FOUND";
}
