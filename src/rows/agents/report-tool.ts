import { checkArguments } from "../../client/tools/arguments.ts";
import type { CheckedToolDefinition } from "../../client/tools/definitions.ts";
import type { FunctionTool, FunctionToolResult } from "../../client/tools/function-tool.ts";
import { messageOf, UsageError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { parseJson } from "../../protocol/json-scan.ts";
import type { JsonValue } from "../engine/row.ts";
import type { CheckResult } from "../result/result-schema.ts";

/** The item whose agent reports. */
export interface ReportedItem {
  readonly jobId: string;
  readonly itemId: string;
  /** Says what is wrong with a result. */
  readonly check?: CheckResult;
  /** Cancels what has not begun. */
  readonly stop: (reason: string) => void;
}

const NAME = "report_agent_job_result";
/** A longer result would have to be held, written and read by everyone who reads the output. */
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
        description: "True if the items that have not begun should not be worked on. Default false.",
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
  #result: JsonValue | undefined;
  #fault: string | undefined;
  #handedBack: string | undefined;

  constructor(item: ReportedItem) {
    this.#item = item;
  }

  /** What was reported; undefined before that. */
  get result(): JsonValue | undefined {
    return this.#result;
  }

  /** What the agent did wrong, after which its item cannot succeed. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** What was wrong with the report that the agent was to correct. */
  get handedBack(): string | undefined {
    return this.#handedBack;
  }

  async call(args: unknown): Promise<FunctionToolResult> {
    if (this.#fault !== undefined) return refused(this.#fault);
    if (this.#result !== undefined) return this.#fail("the agent reported a second time");
    const given = this.#parse(args);
    if ("wrong" in given) return this.#handBack(given.wrong);
    const { jobId, itemId, check, stop } = this.#item;
    if (given.job_id !== jobId)
      return this.#fail(`the agent reported for another job: ${JSON.stringify(shorten(given.job_id, 80))}`);
    if (given.item_id !== itemId)
      return this.#fail(`the agent reported for another item: ${JSON.stringify(shorten(given.item_id, 80))}`);
    const wrong = check?.(given.result);
    if (wrong !== undefined) return this.#handBack(`the result does not fit the schema: ${wrong}`);
    this.#result = given.result;
    if (given.stop === true) stop(`the agent of ${itemId} asked to stop`);
    return { text: JSON.stringify({ accepted: true }), isError: false };
  }

  #parse(args: unknown): ReportArguments | { readonly wrong: string } {
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

  /** The agent may correct one report. */
  #handBack(wrong: string): FunctionToolResult {
    if (this.#handedBack !== undefined) return this.#fail(`the agent's report was wrong twice: ${wrong}`);
    this.#handedBack = wrong;
    return refused(`${wrong}; correct it and report once more`);
  }

  #fail(fault: string): FunctionToolResult {
    this.#fault = fault;
    return refused(`${fault}; this item has failed`);
  }
}

interface ReportArguments {
  readonly job_id: string;
  readonly item_id: string;
  readonly result: { readonly [name: string]: JsonValue };
  readonly stop?: boolean | null;
}

function refused(error: string): FunctionToolResult {
  return { text: JSON.stringify({ accepted: false, error }), isError: true };
}
