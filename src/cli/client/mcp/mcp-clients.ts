import { homedir } from "node:os";
import { join } from "node:path";
import { usageFailure } from "../../shared/failure.ts";
import type { ServerEntry } from "./server-entry.ts";

/** A program that starts servers of the Model Context Protocol. */
export interface McpClientProgram {
  readonly title: string;
  /** Where its servers are in its file. */
  readonly section: string;
  readonly format: "json" | "toml";
  /** Its file for one project. Undefined: there is none. */
  readonly projectFile?: string;
  /** Its file for one user. Undefined: it is not ours to write. */
  readonly userFile?: () => string;
  /** What to do where there is no file to write. */
  readonly byHand: string;
  /** The entry of a server in its file. */
  readonly entry: (server: ServerEntry) => object;
}

/** By the names that the command line knows. */
export const MCP_CLIENTS: Readonly<Record<string, McpClientProgram>> = {
  "claude-code": {
    title: "Claude Code",
    section: "mcpServers",
    format: "json",
    projectFile: ".mcp.json",
    byHand: "pass --project, or use 'claude mcp add --scope user' with what 'mcp config claude-code' prints",
    entry: (server) => ({ type: "stdio", ...started(server, (name) => `\${${name}}`) }),
  },
  "claude-desktop": {
    title: "Claude Desktop",
    section: "mcpServers",
    format: "json",
    byHand: "'mcp config claude-desktop' prints what belongs in its file: Settings, Developer, Edit Config",
    entry: (server) => {
      const [variable] = server.variables;
      if (variable !== undefined)
        throw usageFailure(
          `Claude Desktop passes on no variables such as ${variable}; use --token-file, or --env NAME=VALUE`,
        );
      return started(server, (name) => name);
    },
  },
  codex: {
    title: "Codex",
    section: "mcp_servers",
    format: "toml",
    projectFile: join(".codex", "config.toml"),
    userFile: () => join(process.env["CODEX_HOME"] || join(homedir(), ".codex"), "config.toml"),
    byHand: "",
    entry: ({ command, args, variables }) => ({
      command,
      args,
      ...(variables.length === 0 ? {} : { env_vars: variables }),
    }),
  },
  cursor: {
    title: "Cursor",
    section: "mcpServers",
    format: "json",
    projectFile: join(".cursor", "mcp.json"),
    userFile: () => join(homedir(), ".cursor", "mcp.json"),
    byHand: "",
    entry: (server) => started(server, (name) => `\${env:${name}}`),
  },
  vscode: {
    title: "VS Code",
    section: "servers",
    format: "json",
    projectFile: join(".vscode", "mcp.json"),
    byHand:
      "pass --project, or put what 'mcp config vscode' prints into the file that 'MCP: Open User Configuration' opens",
    entry: (server) => ({ type: "stdio", ...started(server, (name) => `\${env:${name}}`) }),
  },
};

function started({ command, args, variables }: ServerEntry, reference: (name: string) => string): object {
  const env = Object.fromEntries(variables.map((name) => [name, reference(name)]));
  return { command, args, ...(variables.length === 0 ? {} : { env }) };
}
