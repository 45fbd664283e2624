import { setTimeout as delay } from "node:timers/promises";
import {
  type CallToolResult,
  type ContentBlock,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { silentLogger } from "../../../src/base/logger.ts";
import { McpHttp } from "../../../src/mcp/http/mcp-http.ts";
import type { McpService } from "../../../src/mcp/http/mcp-session.ts";
import {
  listenWebSocket,
  type WebSocketListener,
} from "../../../src/transport/websocket/websocket-server.ts";
import { ONE_PIXEL_PNG } from "../../e2e/one-pixel.ts";

const text = (said: string): ContentBlock => ({ type: "text", text: said });
const image: ContentBlock = { type: "image", data: ONE_PIXEL_PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, said: string): ContentBlock => ({
  type: "resource",
  resource: { uri, mimeType, text: said },
});
const texts = { type: "string" } as const;
const object = (properties: object = {}) => ({ type: "object" as const, properties: properties as never });

const ENUMS = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: ["value1", "value2", "value3"].map((value) => ({ const: value, title: `The ${value}` })),
  },
  legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2"] } },
  titledMulti: {
    type: "array",
    items: { anyOf: ["value1", "value2"].map((value) => ({ const: value, title: `The ${value}` })) },
  },
};
const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

type Act = (args: Record<string, unknown>, context: ServerContext) => Promise<readonly ContentBlock[]>;

async function elicit(context: ServerContext, message: string, properties: object, words: string) {
  const params = { mode: "form" as const, message, requestedSchema: object(properties) as never };
  const { action, content } = await context.mcpReq.elicitInput(params);
  return [text(`${words}: action=${action}, content=${JSON.stringify(content)}`)];
}

/** The tools that the conformance tests name: their arguments, and what they do. */
const TOOLS: Readonly<Record<string, readonly [properties: object, act: Act]>> = {
  test_simple_text: [{}, async () => [text("This is a simple text response for testing.")]],
  test_image_content: [{}, async () => [image]],
  test_audio_content: [{}, async () => [{ type: "audio", data: ONE_PIXEL_PNG, mimeType: "audio/wav" }]],
  test_embedded_resource: [
    {},
    async () => [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  ],
  test_multiple_content_types: [
    {},
    async () => [
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  ],
  test_tool_with_logging: [
    {},
    async (_, { mcpReq }) => {
      for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await mcpReq.notify({ method: "notifications/message", params: { level: "info", data } });
        await delay(50);
      }
      return [text("Logged")];
    },
  ],
  test_error_handling: [
    {},
    async () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  ],
  test_tool_with_progress: [
    {},
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          await mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total: 100 },
          });
        await delay(50);
      }
      return [text("Done")];
    },
  ],
  test_sampling: [
    { prompt: texts },
    async ({ prompt }, { mcpReq }) => {
      const content = { type: "text" as const, text: String(prompt) };
      const answer = await mcpReq.requestSampling({ messages: [{ role: "user", content }], maxTokens: 100 });
      return [text(`LLM response: ${JSON.stringify(answer.content)}`)];
    },
  ],
  test_elicitation: [
    { message: texts },
    async ({ message }, context) =>
      elicit(context, String(message), { username: texts, email: texts }, "User response"),
  ],
  test_elicitation_sep1034_defaults: [
    {},
    async (_, context) => elicit(context, "Defaults?", DEFAULTS, "Elicitation completed"),
  ],
  test_elicitation_sep1330_enums: [
    {},
    async (_, context) => elicit(context, "Enums?", ENUMS, "Elicitation completed"),
  ],
  test_reconnection: [{}, async () => [text("Reconnected")]],
};

const SCHEMA_2020 = {
  name: "json_schema_2020_12_tool",
  description: "Tool with JSON Schema 2020-12 features",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object" as const,
    $defs: { address: object({ street: texts, city: texts }) },
    properties: { name: texts, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  },
};

const RESOURCES = [
  { uri: "test://static-text", name: "Text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "Binary", mimeType: "image/png" },
];

type PromptMessage = { readonly role: "user"; readonly content: ContentBlock };
const user = (content: ContentBlock): PromptMessage => ({ role: "user", content });
const PROMPTS: Readonly<
  Record<
    string,
    readonly [names: readonly string[], messages: (args: Record<string, string>) => PromptMessage[]]
  >
> = {
  test_simple_prompt: [[], () => [user(text("This is a simple prompt for testing."))]],
  test_prompt_with_arguments: [
    ["arg1", "arg2"],
    ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  ],
  test_prompt_with_embedded_resource: [
    ["resourceUri"],
    ({ resourceUri = "" }) => [
      user(resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
      user(text("Please process the embedded resource above.")),
    ],
  ],
  test_prompt_with_image: [[], () => [user(image), user(text("Please analyze the image above."))]],
};

function conformanceServer(): Server {
  const server = new Server(
    { name: "conformance", version: "1" },
    {
      capabilities: {
        tools: {},
        resources: { subscribe: true },
        prompts: {},
        logging: {},
        completions: {},
      },
    },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: [
      SCHEMA_2020,
      ...Object.entries(TOOLS).map(([name, [properties]]) => ({
        name,
        description: name,
        inputSchema: object(properties),
      })),
    ],
  }));
  server.setRequestHandler("tools/call", async ({ params }, context): Promise<CallToolResult> => {
    const act = TOOLS[params.name]?.[1];
    try {
      if (act === undefined) throw new Error(`no tool ${params.name}`);
      return { content: [...(await act(params.arguments ?? {}, context))] };
    } catch (error) {
      return { content: [text((error as Error).message)], isError: true };
    }
  });
  server.setRequestHandler("resources/list", () => ({ resources: RESOURCES }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "Template" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
    const contents =
      uri === "test://static-binary"
        ? { uri, mimeType: "image/png", blob: ONE_PIXEL_PNG }
        : id === undefined
          ? { uri, mimeType: "text/plain", text: "This is the content of the static text resource." }
          : { uri, mimeType: "application/json", text: JSON.stringify({ id, data: `Data for ID: ${id}` }) };
    return { contents: [contents] };
  });
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const)
    server.setRequestHandler(method, () => ({}));
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(PROMPTS).map(([name, [names]]) => ({
      name,
      description: name,
      arguments: names.map((argument) => ({ name: argument, required: true })),
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => ({
    messages: PROMPTS[params.name]![1](params.arguments ?? {}),
  }));
  server.setRequestHandler("completion/complete", () => ({ completion: { values: ["paris", "park"] } }));
  return server;
}

const SERVICE: McpService = { server: conformanceServer, [Symbol.asyncDispose]: async () => {} };

/** What the conformance tests are about, on the transport of the product. */
export async function serveConformance(): Promise<WebSocketListener> {
  const http = new McpHttp({
    open: () => SERVICE,
    maxSessions: 4_096,
    sessionIdleMs: 60_000,
    logger: silentLogger,
  });
  return await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    accept: (transport) => transport.destroy(),
    endpoints: new Map([
      [
        "/mcp",
        {
          requestHeaders: [],
          responseHeaders: [],
          refuse: () => undefined,
          answer: (request, response) => http.answer(request, response, { key: "anyone" }),
        },
      ],
    ]),
  });
}
