import type { RowItem } from "../../../rows/engine/row.ts";
import { type CheckRow, RowsFile } from "../../../rows/input/rows-file.ts";
import type { JobFiles } from "../../../rows/job/file-job.ts";
import { print } from "../../shared/standard-streams.ts";
import { printable, printableJson } from "../print/printable.ts";
import type { JobFlags } from "./job-flags.ts";

/**
 * For `--dry-run`: checks the rows, and prints what each would run, as text or as JSON. Resolves with the exit status.
 */
export async function showRows(
  files: JobFiles,
  { limit = Number.POSITIVE_INFINITY, json = false }: Pick<JobFlags, "limit" | "json">,
  check: (columns: readonly string[]) => CheckRow,
  describe: (item: RowItem) => { readonly text: string; readonly fields: object },
): Promise<number> {
  const file = await RowsFile.open(files.input, files, check);
  for await (const item of file.rows()) {
    if (item.index >= limit) break;
    const { text, fields } = describe(item);
    await print(json ? `${printableJson({ id: item.id, ...fields })}\n` : `${printable(item.id)}: ${text}\n`);
  }
  return 0;
}
