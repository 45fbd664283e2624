import type { JobFiles } from "../../../rows/job/file-job.ts";
import { RowsFile } from "../../../rows/input/rows-file.ts";
import { RowCommand, type RowCommandOptions } from "../../../rows/map/row-command.ts";
import { print } from "../print/output.ts";
import { printable, printableJson } from "../print/printable.ts";

/** Checks the rows, and prints the command of each. Nothing is started or written. */
export async function showCommands(
  files: JobFiles,
  options: RowCommandOptions,
  { limit = Number.POSITIVE_INFINITY, json = false }: { readonly limit?: number; readonly json?: boolean },
): Promise<number> {
  const command = new RowCommand(options);
  const file = await RowsFile.open(files.input, files, (columns) => command.check(columns));
  for await (const item of file.rows()) {
    if (item.index >= limit) break;
    const argv = command.argvFor(item);
    const line = json
      ? printableJson({ id: item.id, argv })
      : `${printable(item.id)}: ${argv.map(quoted).join(" ")}`;
    await print(`${line}\n`);
  }
  return 0;
}

/** A word as a shell would take it. */
function quoted(word: string): string {
  const shown = printable(word);
  if (shown !== word) return `$'${shown.replaceAll("'", "\\'")}'`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
