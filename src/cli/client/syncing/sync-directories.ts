import { usageFailure } from "../../shared/failure.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import type { CopyLocation } from "../copying/copy-location.ts";
import { complainAboutLosses, withLocations } from "../copying/shown-copy.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { Exclusion } from "./exclusion.ts";
import { checkSeparate } from "./separate-locations.ts";
import { type PassOptions, syncOnce } from "./sync-pass.ts";
import { changeLines, passAsJson, summaryLine } from "./sync-report.ts";

interface SyncOptions extends TargetOptions {
  readonly watch?: boolean;
  readonly delete?: boolean;
  readonly force?: boolean;
  readonly exclude?: readonly string[];
  readonly gitignore?: boolean;
  readonly dryRun?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Makes one directory like another. Resolves with the exit status. */
export async function syncDirectories(from: string, to: string, options: SyncOptions): Promise<number> {
  if (options.force === true && options.delete !== true)
    throw usageFailure("--force has a meaning only with --delete");
  if (options.watch === true && options.dryRun === true)
    throw usageFailure("--watch and --dry-run exclude each other");
  return await withLocations([from, to], options, async (locations, signal, hosts) => {
    const [source, destination] = locations as [CopyLocation, CopyLocation];
    await checkSeparate(source, destination);
    if (options.watch !== true) return syncAndReport(source, destination, options, signal);
    const { SyncWatch } = await import("./sync-watch.ts");
    const passes = (): PassOptions => passOptions(source, options);
    await new SyncWatch(source, destination, passes, options).run(hosts, signal);
    return 0;
  });
}

async function syncAndReport(
  source: CopyLocation,
  destination: CopyLocation,
  options: SyncOptions,
  signal: AbortSignal,
): Promise<number> {
  const result = await syncOnce(source, destination, passOptions(source, options), signal);
  const { skipped, withoutSetId } = result.tree;
  complainAboutLosses(skipped, withoutSetId === undefined ? [] : [withoutSetId]);
  const isDry = options.dryRun === true;
  if (options.json === true)
    await printJson({
      ...passAsJson(result),
      ...(isDry ? { dryRun: true, changes: result.changes.listed } : {}),
    });
  else {
    if (isDry) await print(changeLines(result.changes));
    if (options.quiet !== true) await print(`${isDry ? "dry run: " : ""}${summaryLine(result)}\n`);
  }
  return result.failed.length === 0 && skipped.length === 0 ? 0 : 1;
}

/** Options of a pass over everything. */
function passOptions(source: CopyLocation, options: SyncOptions): PassOptions {
  const { exclude = [], gitignore = false } = options;
  return {
    delete: options.delete === true,
    deleteAll: options.force === true,
    dryRun: options.dryRun === true,
    quiet: options.quiet === true,
    exclusion: Exclusion.of(source, { patterns: exclude, gitignore }),
  };
}
