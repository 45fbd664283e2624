import type { Command } from "commander";
import { setAction } from "../outcome/end-with.ts";
import { forEachPath } from "../listing/for-each-path.ts";
import { type Listed, listPath, withTimes } from "../listing/list-path.ts";
import { longListing, shortListing } from "../listing/show-listing.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";
import { absolutePath } from "../target/remote-path.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface ListOptions extends TargetOptions {
  readonly all?: boolean;
  readonly long?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
A path may be written PATH, :PATH or HOST:PATH. Relative paths start where 'run' starts. In a terminal, control
characters in names are shown escaped.

Status: 0, or 1 if a path could not be listed.

Examples:
  exec-server ls
  exec-server ls -l /var/log
  exec-server ls --json build:/srv | jq -r '.[].name'
`;

/** Adds `ls`. */
export function define(program: Command): void {
  const command = program
    .command("ls")
    .summary("list directories")
    .description("List directories and files.")
    .usage("[OPTIONS] [PATH...]")
    .argument("[path...]", "directories or files; default: the working directory")
    .option("-a, --all", "include names that begin with a dot")
    .option("-l, --long", "show the mode, size and time of each entry")
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), list);
}

/** Output for one of the paths. */
interface Shown {
  readonly text: string;
  readonly entries: readonly Listed[];
}

async function list(typed: readonly string[], options: ListOptions): Promise<number> {
  const paths = typed.length === 0 ? [""] : typed;
  const shown: Shown[] = [];
  const status = await forEachPath(paths, options, async (connected, path, text) => {
    const directory = absolutePath(connected, path);
    const listed = await listPath(connected.host.files, directory, text);
    const wanted = listed.filter(
      ({ name, isNamed }) => isNamed || options.all === true || !name.startsWith("."),
    );
    const entries = options.long === true ? await withTimes(connected.host.files, wanted) : wanted;
    shown.push({ text, entries });
  });
  if (options.json === true) await printJson(shown.flatMap(({ entries }) => entries.map(asJson)));
  else await printListings(shown, options.long === true ? longListing : shortListing, paths.length > 1);
  return status;
}

/** Files that are named come first, together, as with `ls`. */
async function printListings(
  shown: readonly Shown[],
  listing: (entries: readonly Listed[]) => string,
  hasTitles: boolean,
): Promise<void> {
  const isFile = ({ entries }: Shown): boolean => entries[0]?.isNamed === true;
  const files = shown.filter(isFile).flatMap(({ entries }) => entries);
  if (files.length > 0) await print(listing(files));
  for (const [index, { text, entries }] of shown.filter((one) => !isFile(one)).entries()) {
    const isFirst = index === 0 && files.length === 0;
    if (hasTitles) await print(`${isFirst ? "" : "\n"}${printable(text)}:\n`);
    await print(listing(entries));
  }
}

function asJson({ name, path, kind, size, mode, modified, target }: Listed): object {
  return { name, path, kind, size, mode: mode?.toString(8).padStart(4, "0"), modified, target };
}
