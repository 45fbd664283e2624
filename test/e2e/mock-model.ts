import type { ServerResponse } from "node:http";
import {
  answerWith,
  type InputItem,
  message,
  type ModelRequest,
  ResponsesEndpoint,
} from "../fixtures/scripted-model.mjs";

/**
 * What the model asks the client to do. `namespace` is set if the client groups tools, as it does for those of MCP
 * servers.
 */
export type ToolCall =
  | {
      readonly type: "function_call";
      readonly name: string;
      readonly namespace?: string;
      readonly arguments: string;
    }
  | { readonly type: "custom_tool_call"; readonly name: string; readonly input: string };

/** What the model answers when the client has it review a request for more rights. */
export type Review = "allow" | "deny";

/** One answer of the model. A function sees the outputs so far, and may wait for something first. */
export type Step = ToolCall | ((outputs: readonly ToolOutput[]) => ToolCall | Promise<ToolCall>);

export interface ToolOutput {
  readonly text: string;
  readonly imageUrls: readonly string[];
}

export const call = (name: string, args: object, namespace?: string): ToolCall => ({
  type: "function_call",
  name,
  arguments: JSON.stringify(args),
  ...(namespace === undefined ? {} : { namespace }),
});

export const customCall = (name: string, input: string): ToolCall => ({
  type: "custom_tool_call",
  name,
  input,
});

/**
 * A model that plays a script over the Responses API: one tool call per request, then a last message. It is also the
 * client's proxy for everything else, so that an attempt to leave the machine is seen and refused.
 */
export class MockModel implements AsyncDisposable {
  static async start(steps: readonly Step[], review?: Review): Promise<MockModel> {
    const model = new MockModel(steps, review);
    model.#endpoint = await ResponsesEndpoint.start((asked, response) => model.#answer(asked, response));
    return model;
  }

  readonly requests: ModelRequest[] = [];
  /** What the client has asked its reviewer about. */
  readonly reviews: string[] = [];
  readonly #steps: readonly Step[];
  readonly #review: Review | undefined;
  #endpoint!: ResponsesEndpoint;
  #failure: Error | undefined;

  private constructor(steps: readonly Step[], review: Review | undefined) {
    this.#steps = steps;
    this.#review = review;
  }

  get origin(): string {
    return this.#endpoint.origin;
  }

  /** Everything received that is not a request to the model. */
  get strayRequests(): readonly string[] {
    return this.#endpoint.strayRequests;
  }

  get outputs(): readonly ToolOutput[] {
    return (this.requests.at(-1)?.input ?? []).flatMap(toolOutput);
  }

  /** Text the client put in front of the model before the first answer, message by message. */
  get context(): readonly string[] {
    return (this.requests[0]?.input ?? []).flatMap(({ content = [] }) =>
      content.map((part) => part.text ?? ""),
    );
  }

  /** Throws unless the script was played to its end, and nothing else was asked for. */
  assertPlayed(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.strayRequests.length > 0) throw new Error(`stray requests: ${this.strayRequests.join(", ")}`);
    const expected = this.#steps.length + 1;
    if (this.requests.length !== expected) {
      throw new Error(`the client asked the model ${this.requests.length} times, not ${expected}`);
    }
  }

  async #answer(asked: ModelRequest, response: ServerResponse): Promise<void> {
    try {
      if (asked.text?.format?.type === "json_schema" && this.#review !== undefined) {
        this.reviews.push(JSON.stringify(asked.input.at(-1)?.content));
        say(response, `review-${this.reviews.length}`, JSON.stringify({ outcome: this.#review }));
        return;
      }
      const number = this.requests.push(asked);
      const step = this.#steps[number - 1];
      const toolCall = typeof step === "function" ? await step(this.outputs) : step;
      respond(response, number, toolCall);
    } catch (error) {
      // The client would retry forever; a last message ends its turn, and `assertPlayed` reports why.
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      respond(response, this.requests.length, undefined);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#endpoint[Symbol.asyncDispose]();
  }
}

function respond(response: ServerResponse, number: number, toolCall: ToolCall | undefined): void {
  if (toolCall === undefined) say(response, String(number), "done");
  else
    answerWith(response, String(number), [{ ...toolCall, id: `item-${number}`, call_id: `call-${number}` }]);
}

const say = (response: ServerResponse, id: string, said: string): void =>
  answerWith(response, id, [message(id, said)]);

function toolOutput(item: InputItem): ToolOutput[] {
  if (item.type !== "function_call_output" && item.type !== "custom_tool_call_output") return [];
  const { output = "" } = item;
  const parts = typeof output === "string" ? [{ type: "input_text", text: output }] : output;
  return [
    {
      text: parts.flatMap((part) => part.text ?? []).join(""),
      imageUrls: parts.flatMap((part) => part.image_url ?? []),
    },
  ];
}
