import { resolve } from "node:path";
import { ConnectionError } from "../../../base/errors.ts";
import type { FileError } from "../../../client/files/file-error.ts";
import type { TreeOptions, TreeResult } from "../../../client/files/trees.ts";
import type { Host } from "../../../client/host/host.ts";
import { Failure, oneLine } from "../../shared/failure.ts";
import { pathFailure } from "../outcome/path-failure.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { complain } from "../print/complain.ts";
import { ProgressLine } from "../print/progress-line.ts";
import { someOf } from "../print/some-of.ts";
import { PathConnections } from "../target/path-connections.ts";
import { isRemotePath, parseRemotePath } from "../target/remote-path.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { checkTexts, type CopyLocation, localLocation, remoteLocation } from "./copy-location.ts";
import { CopyProgress } from "./copy-progress.ts";
import { countSource } from "./count-source.ts";
import { frugalMemory } from "./frugal-memory.ts";

/** Small files are limited by the number of requests under way, not by bytes. */
const CONCURRENCY = 24;
const REMEDY = "run the same command again to continue";

/** Connects to the servers of some locations, at least one of which must be on a server, and copies between them. */
export async function withLocations<T>(
  texts: readonly string[],
  options: TargetOptions,
  copy: (locations: readonly CopyLocation[], signal: AbortSignal, hosts: readonly Host[]) => Promise<T>,
): Promise<T> {
  checkTexts(texts);
  await using connections = new PathConnections(options);
  try {
    const locations: CopyLocation[] = [];
    for (const text of texts) locations.push(await openLocation(text, connections));
    return await untilInterrupted((signal) => copy(locations, signal, connections.hosts), REMEDY);
  } catch (error) {
    if (error instanceof ConnectionError && connections.hosts.length > 0 && error.code !== "UNAUTHORIZED")
      throw new Failure(`${oneLine(error.message)}; ${REMEDY}`);
    throw error;
  }
}

async function openLocation(text: string, connections: PathConnections): Promise<CopyLocation> {
  if (!isRemotePath(text)) return localLocation(text);
  const path = parseRemotePath(text);
  return remoteLocation(text, path, await connections.open(path));
}

/** Copies trees, and shows how far it is and what has failed. */
export class ShownCopy {
  readonly progress = new CopyProgress();
  readonly failed: { readonly path: string; readonly message: string }[] = [];
  readonly #signal: AbortSignal;
  readonly #line: ProgressLine | undefined;

  constructor({ quiet, signal }: { readonly quiet: boolean; readonly signal: AbortSignal }) {
    this.#signal = signal;
    this.#line = quiet ? undefined : ProgressLine.onStderr(() => this.progress.line());
  }

  /** Whether the progress is shown on a terminal. */
  get isWatched(): boolean {
    return this.#line !== undefined;
  }

  /** Runs beside the copy, to show how much is left. Excluded files count too until the copy reaches them. */
  async count(sources: readonly CopyLocation[]): Promise<void> {
    if (!this.isWatched) return;
    const total = { files: 0, bytes: 0 };
    try {
      for (const source of sources) await countSource(source, total, this.#signal);
      this.progress.total = total;
    } catch {
      // The copy reports it. Without the total, the remaining time is unknown.
    }
  }

  /** Copies from one location to another, at least one of which is on a server. */
  copy(source: CopyLocation, destination: CopyLocation, more: TreeOptions): Promise<TreeResult> {
    const note = frugalMemory(source.files !== undefined);
    const options: TreeOptions = {
      ...more,
      verify: true,
      concurrency: CONCURRENCY,
      signal: this.#signal,
      onProgress: (progress) => {
        this.progress.update(progress);
        note(progress);
      },
    };
    const [from, to] = [source.files, destination.files];
    if (from === undefined) return to!.upload(source.path, destination.path, options);
    if (to === undefined) return from.download(source.path, destination.path, options);
    return from.transfer(source.path, to, destination.path, options);
  }

  /** Prints what has failed, and remembers it. */
  fail(failure: { readonly path: string; readonly message: string }): void {
    this.failed.push(failure);
    this.#line?.clear();
    complain(failure.message);
  }

  end(): void {
    this.#line?.end();
  }
}

/** The path that an error is about, as it is typed, and one line about it. */
export function describeCopyError(
  error: FileError,
  locations: readonly [CopyLocation, CopyLocation],
): { path: string; message: string } {
  const path = `${locationOfError(error, locations).prefix}${error.path}`;
  // The reason for this program's own refusals is in the message.
  const reason = error.cause === undefined ? error.message.split(`${error.path}: `).at(-1) : undefined;
  const message = reason === undefined ? pathFailure(error, path)!.message : `${path}: ${reason}`;
  return { path, message };
}

/** The machine that an error is about. */
function locationOfError(error: FileError, locations: readonly [CopyLocation, CopyLocation]): CopyLocation {
  const isOfServer = error.rpcCode !== undefined;
  const isOfSystem = !isOfServer && error.cause !== undefined;
  const possible = locations.filter(({ files }) => (files === undefined ? !isOfServer : !isOfSystem));
  const isIn = ({ files, path }: CopyLocation): boolean =>
    error.path.startsWith(files === undefined ? resolve(path) : path);
  return possible.find(isIn) ?? possible[0] ?? locations[0];
}

/** Reports once what was not copied, and which copies lack abilities of their originals. */
export function complainAboutLosses(
  skipped: readonly string[],
  withoutSetId: readonly NonNullable<TreeResult["withoutSetId"]>[],
): void {
  if (skipped.length > 0) complain(`not copied (not a file, directory or link): ${someOf(skipped)}`);
  const [first] = withoutSetId;
  if (first === undefined) return;
  const total = withoutSetId.reduce((sum, { count }) => sum + count, 0);
  const others = total === 1 ? "" : ` and ${total - 1} more`;
  complain(
    `set-user-ID and set-group-ID bits are not copied: ${first.first || "."}${others}; set them with chmod where they are needed`,
  );
}
