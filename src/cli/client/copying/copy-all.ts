import { basename } from "node:path";
import { FileError } from "../../../client/files/file-error.ts";
import type { TreeEntry, TreeOptions, TreeResult } from "../../../client/files/trees.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { printJson, writeErr } from "../../shared/standard-streams.ts";
import { counted, formatDuration, formatSize } from "../../../base/amounts.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { type CopyLocation, kindAt, landingOf } from "./copy-location.ts";
import { complainAboutLosses, describeCopyError, ShownCopy, withLocations } from "./shown-copy.ts";
import { isMark, UnfinishedTree } from "./unfinished-tree.ts";

interface CopyOptions extends TargetOptions {
  readonly follow?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Copies one source after another. Resolves with the exit status. */
export async function copyAll(paths: readonly string[], options: CopyOptions): Promise<number> {
  if (paths.length < 2)
    throw usageFailure("cp needs a source and a destination; see 'exec-server cp --help'");
  return await withLocations(paths, options, (locations, signal) =>
    new CopyRun(options, signal).run(locations),
  );
}

/** A copy into its own source, which would never end. */
class SelfCopy extends Failure {}

class CopyRun {
  readonly #options: CopyOptions;
  readonly #copying: ShownCopy;
  readonly #skipped: string[] = [];
  readonly #withoutSetId: NonNullable<TreeResult["withoutSetId"]>[] = [];
  #verified = true;

  constructor(options: CopyOptions, signal: AbortSignal) {
    this.#options = options;
    this.#copying = new ShownCopy({ quiet: options.quiet === true, signal });
  }

  /** Resolves with the exit status. */
  async run(locations: readonly CopyLocation[]): Promise<number> {
    const sources = locations.slice(0, -1);
    const destination = locations.at(-1)!;
    try {
      if (sources.length > 1 && (await kindAt(destination)) !== "directory")
        throw new Failure(
          `${destination.text}: several sources need a directory that exists; create it first`,
        );
      void this.#copying.count(sources);
      for (const source of sources) await this.#one(source, destination);
    } finally {
      this.#copying.end();
    }
    await this.#report();
    return this.#copying.failed.length === 0 && this.#skipped.length === 0 ? 0 : 1;
  }

  async #one(source: CopyLocation, destination: CopyLocation): Promise<void> {
    try {
      const kind = await kindAt(source);
      if (kind === undefined) throw new Failure(`${source.text}: no such file or directory`);
      if (kind === "other") throw new Failure(`${source.text}: neither a file nor a directory`);
      const result = await this.#location(source, kind, destination);
      this.#copying.progress.add(result);
      this.#skipped.push(...result.skipped);
      if (result.withoutSetId !== undefined) this.#withoutSetId.push(result.withoutSetId);
      this.#verified &&= result.verified === true;
    } catch (error) {
      if (error instanceof FileError) this.#fail(error, source, destination);
      else if (error instanceof Failure && error.exitCode === undefined)
        this.#copying.fail({ path: source.text, message: error.message });
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

  /** A new directory is marked until it is complete, so that the same command resumes it. */
  async #newTree(
    source: CopyLocation,
    target: CopyLocation,
    unfinished: UnfinishedTree,
  ): Promise<TreeResult> {
    const { failed } = this.#copying;
    const failures = failed.length;
    try {
      const result = await this.#tree(source, target, unfinished);
      if (failed.length === failures) await unfinished.clear();
      return result;
    } catch (error) {
      // A copy that has not begun, or can never be complete, is not resumed. Without a connection the mark has to stay.
      if (error instanceof SelfCopy || (await kindAt(target).catch(() => "other")) === undefined)
        await unfinished.clear().catch(() => {});
      throw error;
    }
  }

  /** A directory that is copied into one that exists is marked for as long as it takes. */
  async #merge(source: CopyLocation, target: CopyLocation, destination: CopyLocation): Promise<TreeResult> {
    const isMerged = (await kindAt(target)) === "directory";
    const mark = UnfinishedTree.in(isMerged ? target : destination);
    for (const directory of isMerged ? [destination, target] : [destination])
      await UnfinishedTree.sweep(directory);
    try {
      // A user who may not write there may still replace files below.
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
    more: Pick<TreeOptions, "filter"> = {},
  ): Promise<TreeResult> {
    return this.#copying.copy(source, target, {
      ...more,
      resume: true,
      remoteLinks: "replace",
      symlinks: this.#options.follow === true ? "follow" : "keep",
      onError: (error) => this.#fail(error, source, target),
    });
  }

  #fail(error: FileError, source: CopyLocation, target: CopyLocation): void {
    this.#copying.fail(describeCopyError(error, [source, target]));
  }

  async #report(): Promise<void> {
    const { seconds, summary } = this.#copying.progress;
    complainAboutLosses(this.#skipped, this.#withoutSetId);
    if (this.#options.json === true)
      await printJson({
        ...summary,
        seconds: Math.round(seconds * 1000) / 1000,
        verified: this.#verified,
        skipped: this.#skipped,
        failed: this.#copying.failed,
      });
    if (!this.#copying.isWatched) return;
    const { files, bytes, keptBytes } = summary;
    const parts = [
      `${counted(files, "file")}, ${formatSize(bytes)} in ${formatDuration(seconds * 1000)}`,
      `${formatSize(Math.round(bytes / Math.max(seconds, 0.001)))}/s`,
      ...(keptBytes > 0 ? [`${formatSize(keptBytes)} already there`] : []),
      ...(this.#verified ? [] : ["not verified: the server cannot compute hashes"]),
    ];
    writeErr(`${parts.join(", ")}\n`);
  }
}
