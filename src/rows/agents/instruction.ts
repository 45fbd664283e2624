import type { JsonValue, RowItem } from "../engine/row.ts";

/** The instruction for the agent of a row. */
export interface RowInstruction {
  readonly jobId: string;
  readonly item: RowItem;
  /** The template with the columns of the row filled in. */
  readonly instruction: string;
  readonly outputSchema?: JsonValue;
}

/**
 * The message that an agent begins with. Its first sentence and the two lines after it are what endpoints, and models
 * that were trained on such jobs, expect.
 */
export function rowInstruction({ jobId, item, instruction, outputSchema }: RowInstruction): string {
  const schema =
    outputSchema === undefined
      ? []
      : ["", "The result must fit this JSON schema:", JSON.stringify(outputSchema)];
  return [
    "You are processing one item for a generic agent job.",
    `Job ID: ${jobId}`,
    `Item ID: ${item.id}`,
    "",
    "Instruction:",
    instruction,
    "",
    "The row that this item stands for, as JSON:",
    JSON.stringify(item.values),
    ...schema,
    "",
    "When the work is done, call report_agent_job_result once, with the job_id and the item_id above and the result as a " +
      "JSON object. A second report, or one for another item, fails this item. Set stop to true only if the items that " +
      "have not begun should not be worked on. After the report, end your turn without calling anything else.",
  ].join("\n");
}
