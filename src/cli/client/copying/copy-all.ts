import { basename } from "node:path";
import { FileError } from "../../../client/files/file-error.ts";
import type { TreeEntry, TreeOptions, TreeResult } from "../../../client/files/trees.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { Failure, usageFailure } from "../outcome/failure.ts";
import { formatDuration, formatSize } from "../print/amounts.ts";
import { complain } from "../print/complain.ts";
import { printJson } from "../print/output.ts";
import { someOf } from "../print/some-of.ts";
import { ProgressLine } from "../print/progress-line.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { ConnectedLocations } from "./connected-locations.ts";
import { CopyProgress } from "./copy-progress.ts";
import { COPY_CONCURRENCY, copyBetween } from "./copy-between.ts";
import { describeCopyError } from "./copy-error.ts";
import { checkTexts, type CopyLocation, kindAt, landingOf } from "./copy-location.ts";
import { countSource } from "./count-source.ts";
import { FrugalMemory } from "./frugal-memory.ts";
import { complainAboutSetId } from "./set-id-warning.ts";
import { isMark, UnfinishedTree } from "./unfinished-tree.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";

export interface CopyOptions extends TargetOptions {
  readonly follow?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const CONTINUE = "run the same command again to continue";

/** Copies one source after another. Resolves with whether everything was copied. */
export async function copyAll(paths: readonly string[], options: CopyOptions): Promise<boolean> {
  if (paths.length < 2)
    throw usageFailure("cp needs a source and a destination; see 'exec-server cp --help'");
  checkTexts(paths);
  const locations = new ConnectedLocations(options);
  try {
    const opened: CopyLocation[] = [];
    for (const text of paths) opened.push(await locations.open(text));
    return await untilInterrupted((signal) => new CopyRun(options, signal).run(opened), CONTINUE);
  } catch (error) {
    throw locations.failure(error, CONTINUE);
  } finally {
    await locations.close();
  }
}

/** A copy into its own source, which would never end. */
class SelfCopy extends Failure {}

class CopyRun {
  readonly #options: CopyOptions;
  readonly #signal: AbortSignal;
  readonly #progress = new CopyProgress();
  readonly #line: ProgressLine | undefined;
  readonly #failed: { readonly path: string; readonly message: string }[] = [];
  readonly #skipped: string[] = [];
  readonly #withoutSetId: NonNullable<TreeResult["withoutSetId"]>[] = [];
  #verified = true;

  constructor(options: CopyOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#line = options.quiet === true ? undefined : ProgressLine.onStderr(() => this.#progress.line());
  }

  async run(locations: readonly CopyLocation[]): Promise<boolean> {
    const sources = locations.slice(0, -1);
    const destination = locations.at(-1)!;
    try {
      if (sources.length > 1 && (await kindAt(destination)) !== "directory")
        throw new Failure(
          `${destination.text}: several sources need a directory that exists; create it first`,
        );
      if (this.#line !== undefined) void this.#count(sources);
      for (const source of sources) await this.#one(source, destination);
    } finally {
      this.#line?.end();
    }
    await this.#report();
    return this.#failed.length === 0 && this.#skipped.length === 0;
  }

  async #count(sources: readonly CopyLocation[]): Promise<void> {
    const total = { files: 0, bytes: 0 };
    try {
      for (const source of sources) await countSource(source, total, this.#signal);
      this.#progress.total = total;
    } catch {
      // The copy reports it. Without the total there is no time left to show.
    }
  }

  async #one(source: CopyLocation, destination: CopyLocation): Promise<void> {
    try {
      const kind = await kindAt(source);
      if (kind === undefined) throw new Failure(`${source.text}: no such file or directory`);
      if (kind === "other") throw new Failure(`${source.text}: it is neither a file nor a directory`);
      const result = await this.#location(source, kind, destination);
      this.#progress.add(result);
      this.#skipped.push(...result.skipped);
      if (result.withoutSetId !== undefined) this.#withoutSetId.push(result.withoutSetId);
      this.#verified &&= result.verified === true;
    } catch (error) {
      if (error instanceof FileError) this.#fail(error, source, destination);
      else if (error instanceof Failure && error.exitCode === undefined)
        this.#complain(source.text, error.message);
      else throw error;
    }
  }

  async #location(
    source: CopyLocation,
    kind: "file" | "directory",
    destination: CopyLocation,
  ): Promise<TreeResult> {
    if (kind === "file") return this.#copy(source, (await landingOf(source, kind, destination)).target);
    const unfinished = UnfinishedTree.beside(destination, source);
    if (await unfinished.exists()) return this.#newTree(source, destination, unfinished);
    const { target, isNew } = await landingOf(source, kind, destination);
    if (!isNew) return this.#merge(source, target, destination);
    await unfinished.mark();
    return this.#newTree(source, target, unfinished);
  }

  /** A directory under a new name is marked until it is complete, so that the same command goes on with it. */
  async #newTree(
    source: CopyLocation,
    target: CopyLocation,
    unfinished: UnfinishedTree,
  ): Promise<TreeResult> {
    const failed = this.#failed.length;
    try {
      const result = await this.#tree(source, target, unfinished);
      if (this.#failed.length === failed) await unfinished.clear();
      return result;
    } catch (error) {
      // What has not begun, or can never be complete, is not continued. Without a connection the mark has to stay.
      if (error instanceof SelfCopy || (await kindAt(target).catch(() => "other")) === undefined)
        await unfinished.clear().catch(() => {});
      throw error;
    }
  }

  /** A directory that is copied into one that exists is marked for as long as it takes. */
  async #merge(source: CopyLocation, target: CopyLocation, destination: CopyLocation): Promise<TreeResult> {
    const isThere = (await kindAt(target)) === "directory";
    const mark = UnfinishedTree.in(isThere ? target : destination);
    for (const directory of isThere ? [destination, target] : [destination])
      await UnfinishedTree.sweep(directory);
    try {
      // Whoever may not write there may still replace files below.
      await mark.mark().catch(() => {});
      return await this.#tree(source, target, mark);
    } finally {
      await mark.clear().catch(() => {});
    }
  }

  async #tree(source: CopyLocation, target: CopyLocation, mark: UnfinishedTree): Promise<TreeResult> {
    const itself = (): SelfCopy =>
      new SelfCopy(`${target.text} is inside ${source.text}: a directory cannot be copied into itself`);
    if (await mark.isIn(source)) throw itself();
    // The same machine may be reached in another way, or through a link.
    const filter = ({ path }: TreeEntry): boolean => {
      const name = basename(path);
      if (name === mark.name) throw itself();
      return !isMark(name);
    };
    return this.#copy(source, target, { filter });
  }

  #copy(
    source: CopyLocation,
    target: CopyLocation,
    given: Pick<TreeOptions, "filter"> = {},
  ): Promise<TreeResult> {
    const memory = new FrugalMemory({ receives: source.files !== undefined });
    const options: TreeOptions = {
      ...given,
      resume: true,
      verify: true,
      remoteLinks: "replace",
      symlinks: this.#options.follow === true ? "follow" : "keep",
      concurrency: COPY_CONCURRENCY,
      signal: this.#signal,
      onProgress: (progress) => {
        this.#progress.update(progress);
        memory.copied(progress);
      },
      onError: (error) => this.#fail(error, source, target),
    };
    return copyBetween(source, target, options);
  }

  #fail(error: FileError, source: CopyLocation, target: CopyLocation): void {
    const { path, message } = describeCopyError(error, [source, target]);
    this.#complain(path, message);
  }

  #complain(path: string, message: string): void {
    this.#failed.push({ path, message });
    const write = (): void => complain(message);
    if (this.#line === undefined) write();
    else this.#line.above(write);
  }

  async #report(): Promise<void> {
    const { seconds, summary } = this.#progress;
    if (this.#skipped.length > 0)
      complain(`not copied (not a file, directory or link): ${someOf(this.#skipped)}`);
    complainAboutSetId(this.#withoutSetId);
    if (this.#options.json === true)
      await printJson({
        ...summary,
        seconds: Math.round(seconds * 1000) / 1000,
        verified: this.#verified,
        skipped: this.#skipped,
        failed: this.#failed,
      });
    if (this.#line === undefined) return;
    const { files, bytes, keptBytes } = summary;
    const parts = [
      `${files} ${files === 1 ? "file" : "files"}, ${formatSize(bytes)} in ${formatDuration(seconds * 1000)}`,
      `${formatSize(Math.round(bytes / Math.max(seconds, 0.001)))}/s`,
      ...(keptBytes > 0 ? [`${formatSize(keptBytes)} were there`] : []),
      ...(this.#verified ? [] : ["not verified: the server cannot tell hashes"]),
    ];
    writeErr(`${parts.join(", ")}\n`);
  }
}
