import { basename, resolve } from "node:path";
import { ConnectionError } from "../../../base/errors.ts";
import { FileError } from "../../../client/files/file-error.ts";
import type { TreeEntry, TreeOptions, TreeResult } from "../../../client/files/trees.ts";
import { writeErr } from "../../standard-streams.ts";
import { Failure, usageFailure } from "../failure.ts";
import { oneLine } from "../one-line.ts";
import { pathFailure } from "../path-failure.ts";
import { formatDuration, formatSize } from "../print/amounts.ts";
import { complain } from "../print/complain.ts";
import { printJson } from "../print/output.ts";
import { ProgressLine } from "../print/progress-line.ts";
import { type Connected, connectTarget } from "../target/connect-target.ts";
import { isRemotePath, optionsFor, parseRemotePath } from "../target/remote-path.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { CopyProgress } from "./copy-progress.ts";
import { checkTexts, type CopyPlace, kindOfPlace, landingOf, localPlace, remotePlace } from "./copy-place.ts";
import { countSource } from "./count-source.ts";
import { FrugalMemory } from "./frugal-memory.ts";
import { isMark, UnfinishedTree } from "./unfinished-tree.ts";
import { untilInterrupted } from "../until-interrupted.ts";

export interface CopyOptions extends TargetOptions {
  readonly follow?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Small files are limited by the number of requests under way, not by bytes. */
const CONCURRENCY = 24;
/** Names of what was not copied that are listed; the rest is counted. */
const MAX_NAMED = 5;
const CONTINUE = "run the same command again to continue";

/** Copies one source after another. Resolves with whether everything was copied. */
export async function copyAll(paths: readonly string[], options: CopyOptions): Promise<boolean> {
  if (paths.length < 2)
    throw usageFailure("cp needs a source and a destination; see 'exec-server cp --help'");
  checkTexts(paths);
  const connections = new Map<string | undefined, Connected>();
  const placeOf = async (text: string): Promise<CopyPlace> => {
    if (!isRemotePath(text)) return localPlace(text);
    const path = parseRemotePath(text);
    const connected = connections.get(path.host) ?? (await connectTarget(optionsFor(path, options)));
    connections.set(path.host, connected);
    return remotePlace(text, path, connected);
  };
  try {
    const places: CopyPlace[] = [];
    for (const text of paths) places.push(await placeOf(text));
    return await untilInterrupted((signal) => new CopyRun(options, signal).run(places), CONTINUE);
  } catch (error) {
    if (error instanceof ConnectionError && connections.size > 0 && error.code !== "UNAUTHORIZED")
      throw new Failure(`${oneLine(error.message)}; ${CONTINUE}`);
    throw error;
  } finally {
    await Promise.all([...connections.values()].map(({ host }) => host.close()));
  }
}

/** The machine that an error is about. */
function placeOfError(error: FileError, places: readonly [CopyPlace, CopyPlace]): CopyPlace {
  const isOfServer = error.rpcCode !== undefined;
  const isOfSystem = !isOfServer && error.cause !== undefined;
  const possible = places.filter(({ files }) => (files === undefined ? !isOfServer : !isOfSystem));
  const isIn = ({ files, path }: CopyPlace): boolean =>
    error.path.startsWith(files === undefined ? resolve(path) : path);
  return possible.find(isIn) ?? possible[0] ?? places[0];
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
  #verified = true;

  constructor(options: CopyOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#line = options.quiet === true ? undefined : ProgressLine.onStderr(() => this.#progress.line());
  }

  async run(places: readonly CopyPlace[]): Promise<boolean> {
    const sources = places.slice(0, -1);
    const destination = places.at(-1)!;
    try {
      if (sources.length > 1 && (await kindOfPlace(destination)) !== "directory")
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

  async #count(sources: readonly CopyPlace[]): Promise<void> {
    const total = { files: 0, bytes: 0 };
    try {
      for (const source of sources) await countSource(source, total, this.#signal);
      this.#progress.total = total;
    } catch {
      // The copy reports it. Without the total there is no time left to show.
    }
  }

  async #one(source: CopyPlace, destination: CopyPlace): Promise<void> {
    try {
      const kind = await kindOfPlace(source);
      if (kind === undefined) throw new Failure(`${source.text}: no such file or directory`);
      if (kind === "other") throw new Failure(`${source.text}: it is neither a file nor a directory`);
      const result = await this.#place(source, kind, destination);
      this.#progress.add(result);
      this.#skipped.push(...result.skipped);
      this.#verified &&= result.verified === true;
    } catch (error) {
      if (error instanceof FileError) this.#fail(error, source, destination);
      else if (error instanceof Failure && error.exitCode === undefined)
        this.#complain(source.text, error.message);
      else throw error;
    }
  }

  async #place(source: CopyPlace, kind: "file" | "directory", destination: CopyPlace): Promise<TreeResult> {
    if (kind === "file") return this.#copy(source, (await landingOf(source, kind, destination)).target);
    const unfinished = UnfinishedTree.beside(destination, source);
    if (await unfinished.exists()) return this.#newTree(source, destination, unfinished);
    const { target, isNew } = await landingOf(source, kind, destination);
    if (!isNew) return this.#merge(source, target, destination);
    await unfinished.mark();
    return this.#newTree(source, target, unfinished);
  }

  /** A directory under a new name is marked until it is complete, so that the same command goes on with it. */
  async #newTree(source: CopyPlace, target: CopyPlace, unfinished: UnfinishedTree): Promise<TreeResult> {
    const failed = this.#failed.length;
    try {
      const result = await this.#tree(source, target, unfinished);
      if (this.#failed.length === failed) await unfinished.clear();
      return result;
    } catch (error) {
      // What has not begun, or can never be complete, is not continued. Without a connection the mark has to stay.
      if (error instanceof SelfCopy || (await kindOfPlace(target).catch(() => "other")) === undefined)
        await unfinished.clear().catch(() => {});
      throw error;
    }
  }

  /** A directory that is copied into one that exists is marked for as long as it takes. */
  async #merge(source: CopyPlace, target: CopyPlace, destination: CopyPlace): Promise<TreeResult> {
    const isThere = (await kindOfPlace(target)) === "directory";
    const mark = UnfinishedTree.in(isThere ? target : destination);
    try {
      // Whoever may not write there may still replace files below.
      await mark.mark().catch(() => {});
      return await this.#tree(source, target, mark);
    } finally {
      await mark.clear().catch(() => {});
    }
  }

  async #tree(source: CopyPlace, target: CopyPlace, mark: UnfinishedTree): Promise<TreeResult> {
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

  #copy(source: CopyPlace, target: CopyPlace, given: Pick<TreeOptions, "filter"> = {}): Promise<TreeResult> {
    const memory = new FrugalMemory({ receives: source.files !== undefined });
    const options: TreeOptions = {
      ...given,
      resume: true,
      verify: true,
      remoteLinks: "replace",
      symlinks: this.#options.follow === true ? "follow" : "keep",
      concurrency: CONCURRENCY,
      signal: this.#signal,
      onProgress: (progress) => {
        this.#progress.tell(progress);
        memory.copied(progress);
      },
      onError: (error) => this.#fail(error, source, target),
    };
    const [from, to] = [source.files, target.files];
    if (from === undefined) return to!.upload(source.path, target.path, options);
    if (to === undefined) return from.download(source.path, target.path, options);
    return from.transfer(source.path, to, target.path, options);
  }

  #fail(error: FileError, source: CopyPlace, target: CopyPlace): void {
    const { prefix } = placeOfError(error, [source, target]);
    const shown = `${prefix}${error.path}`;
    // What this program itself refuses has its reason in the message.
    const reason = error.cause === undefined ? error.message.split(`${error.path}: `).at(-1) : undefined;
    this.#complain(shown, reason === undefined ? pathFailure(error, shown)!.message : `${shown}: ${reason}`);
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
      complain(`not copied, because it is no file, directory or link: ${this.#names()}`);
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

  #names(): string {
    const more = this.#skipped.length - MAX_NAMED;
    const names = this.#skipped.slice(0, MAX_NAMED).join(", ");
    return more > 0 ? `${names} and ${more} more` : names;
  }
}
