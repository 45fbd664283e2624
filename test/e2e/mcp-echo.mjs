// A small MCP server on stdin and stdout with one tool, `echo`, that also says where it runs.
import { createInterface } from "node:readline";

const tool = {
  name: "echo",
  description: "Repeats a text",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "mcp-echo", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": ({ arguments: { text } }) => ({
    content: [{ type: "text", text: `${text} from ${process.cwd()}` }],
  }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = methods[method];
  const body =
    answer === undefined
      ? { error: { code: -32601, message: `no method ${method}` } }
      : { result: answer(params ?? {}) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
});
