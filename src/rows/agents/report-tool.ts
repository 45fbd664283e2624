import { checkArguments } from "../../client/tools/arguments.ts";
import type { CheckedToolDefinition } from "../../client/tools/definitions.ts";
import type { FunctionTool, FunctionToolResult } from "../../client/tools/function-tool.ts";
import { messageOf, UsageError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { parseJson } from "../../protocol/json-scan.ts";
import type { JsonValue } from "../engine/row.ts";
import type { CheckResult } from "../result/result-schema.ts";

/** The item that an agent reports on. */
interface ReportedItem {
  readonly jobId: string;
  readonly itemId: string;
  /** Describes what is wrong with a result. */
  readonly check: CheckResult | undefined;
  /** Cancels what has not begun. */
  readonly stop: (reason: string) => void;
}

const NAME = "report_agent_job_result";
/** A longer result would have to be kept, written and read by every reader of the output. */
const MAX_RESULT_CHARACTERS = 1024 * 1024;

const definition: CheckedToolDefinition = {
  type: "function",
  name: NAME,
  description:
    "Reports the result of the item that you are processing. Call it exactly once, when the work is done. " +
    "The answer says whether the report was accepted.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      job_id: { type: "string", description: "The Job ID that you were given." },
      item_id: { type: "string", description: "The Item ID that you were given." },
      result: { type: "object", description: "The result, as a JSON object." },
      stop: {
        type: "boolean",
        description: "True to skip the items that have not started. Default false.",
      },
    },
    required: ["job_id", "item_id", "result"],
    additionalProperties: false,
  },
};

/** The tool with which the agent of one item reports, and what has become of its reports. */
export class ReportTool implements FunctionTool {
  readonly definition = definition;
  readonly #item: ReportedItem;
  /** The reported result; undefined before that. */
  result: JsonValue | undefined;
  /** A mistake of the agent after which its item cannot succeed. */
  fault: string | undefined;
  /** What was wrong with the report that the agent was asked to correct. */
  handedBack: string | undefined;

  constructor(item: ReportedItem) {
    this.#item = item;
  }

  async call(args: unknown): Promise<FunctionToolResult> {
    if (this.fault !== undefined) return refused(this.fault);
    if (this.result !== undefined) return this.#fail("the agent reported a second time");
    const report = parseReport(args);
    if ("wrong" in report) return this.#handBack(report.wrong);
    const { jobId, itemId, check, stop } = this.#item;
    if (report.job_id !== jobId)
      return this.#fail(`the agent reported for another job: ${JSON.stringify(shorten(report.job_id, 80))}`);
    if (report.item_id !== itemId)
      return this.#fail(
        `the agent reported for another item: ${JSON.stringify(shorten(report.item_id, 80))}`,
      );
    const wrong = check?.(report.result);
    if (wrong !== undefined) return this.#handBack(`the result does not fit the schema: ${wrong}`);
    this.result = report.result;
    if (report.stop === true) stop(`the agent of ${itemId} asked to stop`);
    return { text: JSON.stringify({ accepted: true }), isError: false };
  }

  /** The agent may correct one report. */
  #handBack(wrong: string): FunctionToolResult {
    if (this.handedBack !== undefined) return this.#fail(`the agent's report was wrong twice: ${wrong}`);
    this.handedBack = wrong;
    return refused(`${wrong}; correct it and report once more`);
  }

  #fail(fault: string): FunctionToolResult {
    this.fault = fault;
    return refused(`${fault}; this item has failed`);
  }
}

interface ReportArguments {
  readonly job_id: string;
  readonly item_id: string;
  readonly result: { readonly [name: string]: JsonValue };
  readonly stop?: boolean | null;
}

function parseReport(args: unknown): ReportArguments | { readonly wrong: string } {
  try {
    if (typeof args === "string" && args.length > MAX_RESULT_CHARACTERS)
      throw new UsageError(`${NAME}: the result is longer than ${MAX_RESULT_CHARACTERS} characters`);
    const value = typeof args === "string" ? parseJson(args).value : args;
    // The schema describes the type.
    return checkArguments(definition, value) as unknown as ReportArguments;
  } catch (error) {
    return { wrong: error instanceof UsageError ? error.message : `${NAME}: ${messageOf(error)}` };
  }
}

function refused(error: string): FunctionToolResult {
  return { text: JSON.stringify({ accepted: false, error }), isError: true };
}
