import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

const SESSION = "session-of-mcp-http";

interface RpcMessage {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly text?: string } };
}

/**
 * An MCP server over streamable HTTP with one tool, `shout`. It answers in each of the ways the transport allows: JSON,
 * a stream of events, an empty 202, and a stream that stays open for as long as the client likes.
 */
export class McpHttp implements AsyncDisposable {
  static async start(): Promise<McpHttp> {
    const server = new McpHttp();
    await new Promise<void>((resolve, reject) =>
      server.#server.once("error", reject).listen(0, "127.0.0.1", resolve),
    );
    return server;
  }

  /** Method and, for a message, what it asks for: `POST tools/call`. */
  readonly requests: string[] = [];
  /** Resolves when the client abandons the stream that stays open. */
  readonly streamClosed: Promise<void>;
  #noteStreamClosed = () => {};
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  private constructor() {
    this.streamClosed = new Promise((resolve) => {
      this.#noteStreamClosed = resolve;
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.method === "GET") {
      this.requests.push("GET");
      response.once("close", this.#noteStreamClosed);
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
      return;
    }
    if (request.method !== "POST") {
      this.requests.push(request.method ?? "");
      response.writeHead(204).end();
      return;
    }
    const message = JSON.parse(body) as RpcMessage;
    this.requests.push(`POST ${message.method}`);
    if (message.method !== "initialize" && request.headers["mcp-session-id"] !== SESSION) {
      response.writeHead(400).end();
    } else if (message.id === undefined) {
      response.writeHead(202).end();
    } else if (message.method === "tools/call") {
      const progress = { method: "notifications/message", params: { level: "info", data: "shouting" } };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event({ jsonrpc: "2.0", ...progress }), () => {
        response.end(event(answer(message)));
      });
    } else {
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": SESSION });
      response.end(JSON.stringify(answer(message)));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

const event = (message: object): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

function answer({ id, method, params }: RpcMessage): object {
  switch (method) {
    case "initialize":
      return {
        jsonrpc: "2.0",
        id,
        result: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {}, logging: {} },
          serverInfo: { name: "mcp-http", version: "1.0.0" },
        },
      };
    case "tools/list":
      return { jsonrpc: "2.0", id, result: { tools: [SHOUT] } };
    case "tools/call": {
      const shouted = (params?.arguments?.text ?? "").toUpperCase();
      return { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: shouted }] } };
    }
    default:
      return { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } };
  }
}

const SHOUT = {
  name: "shout",
  description: "Repeats a text in capitals",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};
