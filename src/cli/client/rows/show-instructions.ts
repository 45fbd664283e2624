import { instructionCheck } from "../../../rows/agents/agent-job.ts";
import { RowsFile } from "../../../rows/input/rows-file.ts";
import type { JobFiles } from "../../../rows/job/file-job.ts";
import { Template } from "../../../rows/template/template.ts";
import { print } from "../print/output.ts";
import { printable, printableJson } from "../print/printable.ts";

/** Checks the rows, and prints the instruction of each. No model is asked, and nothing is written. */
export async function showInstructions(
  files: JobFiles,
  instruction: string,
  { limit = Number.POSITIVE_INFINITY, json = false }: { readonly limit?: number; readonly json?: boolean },
): Promise<number> {
  const template = new Template(instruction);
  const file = await RowsFile.open(files.input, files, (columns) => instructionCheck(template, columns));
  for await (const { id, index, values } of file.rows()) {
    if (index >= limit) break;
    const filled = template.textFor(values);
    await print(
      json ? `${printableJson({ id, instruction: filled })}\n` : `${printable(id)}: ${printable(filled)}\n`,
    );
  }
  return 0;
}
