import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

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

interface ModelRequest {
  /** Set if the answer must have a form: only the reviewer of approvals asks for one. */
  readonly text?: { readonly format?: { readonly type: string } };
  readonly input: readonly InputItem[];
}

interface InputItem {
  readonly type: string;
  readonly content?: readonly ContentPart[];
  readonly output?: string | readonly ContentPart[];
}

interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: string;
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
    await new Promise<void>((resolve, reject) =>
      model.#server.once("error", reject).listen(0, "127.0.0.1", resolve),
    );
    return model;
  }

  readonly requests: ModelRequest[] = [];
  /** What the client has asked its reviewer about. */
  readonly reviews: string[] = [];
  /** Everything received that is not a request to the model. */
  readonly strayRequests: string[] = [];
  readonly #steps: readonly Step[];
  readonly #review: Review | undefined;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #failure: Error | undefined;

  private constructor(steps: readonly Step[], review: Review | undefined) {
    this.#steps = steps;
    this.#review = review;
    this.#server.on("connect", (request, socket) => {
      this.strayRequests.push(`CONNECT ${request.url}`);
      socket.destroy();
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
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

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST" || request.url !== "/v1/responses") {
      this.strayRequests.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
      return;
    }
    try {
      const asked = JSON.parse(await text(request)) as ModelRequest;
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

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

function respond(response: ServerResponse, number: number, toolCall: ToolCall | undefined): void {
  if (toolCall === undefined) say(response, String(number), "done");
  else answer(response, String(number), { ...toolCall, id: `item-${number}`, call_id: `call-${number}` });
}

function say(response: ServerResponse, id: string, said: string): void {
  const content = [{ type: "output_text", text: said }];
  answer(response, id, { type: "message", role: "assistant", id: `message-${id}`, content });
}

function answer(response: ServerResponse, name: string, item: object): void {
  const id = `response-${name}`;
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of [
    { type: "response.created", response: { id } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id, usage } },
  ]) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

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
