// Installs the public tools for the Model Context Protocol under .cache/mcp-tools, and prints where they are: the
// conformance tests with the first version of the SDK, the inspector, and the version of Node that they need.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installNode } from "./install-node.mjs";

const NODE = "24.21.0";
const PACKAGES = {
  "@modelcontextprotocol/conformance": "0.1.16",
  "@modelcontextprotocol/inspector": "2.12.0",
  "@modelcontextprotocol/sdk": "1.32.2",
};

export const MCP_TOOLS = fileURLToPath(new URL("../.cache/mcp-tools", import.meta.url));

/** Returns the path of a Node that runs them. */
export function installMcpTools() {
  const manifest = `${JSON.stringify({ private: true, dependencies: PACKAGES })}\n`;
  const file = join(MCP_TOOLS, "package.json");
  const done = join(MCP_TOOLS, "installed.json");
  if (!existsSync(done) || readFileSync(done, "utf8") !== manifest) {
    console.log("installing the tools for MCP into .cache/mcp-tools");
    mkdirSync(MCP_TOOLS, { recursive: true });
    writeFileSync(file, manifest);
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", MCP_TOOLS], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    writeFileSync(done, manifest);
  }
  return installNode(NODE);
}
