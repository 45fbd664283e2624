import { ConnectedLocations } from "../copying/connected-locations.ts";
import { checkTexts, type CopyLocation } from "../copying/copy-location.ts";
import { complainAboutSetId } from "../copying/set-id-warning.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { usageFailure } from "../outcome/failure.ts";
import { complain } from "../print/complain.ts";
import { print, printJson } from "../print/output.ts";
import { someOf } from "../print/some-of.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { Exclusion } from "./exclusion.ts";
import { checkSeparate } from "./separate-locations.ts";
import { type PassOptions, syncOnce } from "./sync-pass.ts";
import { changeLines, type PassResult, passAsJson, summaryLine } from "./sync-report.ts";

export interface SyncOptions extends TargetOptions {
  readonly watch?: boolean;
  readonly delete?: boolean;
  readonly force?: boolean;
  readonly exclude?: readonly string[];
  readonly gitignore?: boolean;
  readonly dryRun?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const CONTINUE = "run the same command again to continue";

/** Makes one directory like another. Resolves with whether everything was copied. */
export async function syncDirectories(from: string, to: string, options: SyncOptions): Promise<boolean> {
  if (options.force === true && options.delete !== true)
    throw usageFailure("--force has a meaning only with --delete");
  if (options.watch === true && options.dryRun === true)
    throw usageFailure("--watch and --dry-run exclude each other");
  checkTexts([from, to]);
  const locations = new ConnectedLocations(options);
  try {
    const source = await locations.open(from);
    const destination = await locations.open(to);
    return await untilInterrupted(async (signal) => {
      await checkSeparate(source, destination);
      if (options.watch !== true) return syncAndReport(source, destination, options, signal);
      const { SyncWatch } = await import("./sync-watch.ts");
      const passes = (): PassOptions => passOptions(source, options);
      await new SyncWatch(source, destination, passes, options).run(locations.hosts, signal);
      return true;
    }, CONTINUE);
  } catch (error) {
    throw locations.failure(error, CONTINUE);
  } finally {
    await locations.close();
  }
}

async function syncAndReport(
  source: CopyLocation,
  destination: CopyLocation,
  options: SyncOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await syncOnce(source, destination, passOptions(source, options), signal);
  complainAboutSkipped(result);
  complainAboutSetId(result.tree.withoutSetId === undefined ? [] : [result.tree.withoutSetId]);
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
  return result.failed.length === 0 && result.tree.skipped.length === 0;
}

/** Options of a pass over everything. */
function passOptions(source: CopyLocation, options: SyncOptions): PassOptions {
  const { exclude = [], gitignore = false } = options;
  return {
    deletes: options.delete === true,
    deletesAll: options.force === true,
    isDry: options.dryRun === true,
    listsAll: options.dryRun === true,
    showsProgress: options.quiet !== true,
    exclusion: Exclusion.of(source, { patterns: exclude, gitignore }),
  };
}

function complainAboutSkipped({ tree: { skipped } }: PassResult): void {
  if (skipped.length > 0) complain(`not copied (not a file, directory or link): ${someOf(skipped)}`);
}
