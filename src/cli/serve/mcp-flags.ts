import { resolve } from "node:path";
import { isTable, type Refuse } from "../../server/access/read-rights.ts";
import type { McpToolOptions } from "../../server/index.ts";
import type { ListenAddress } from "../../server/serve/listen-address.ts";
import { defined } from "../shared/defined.ts";
import { usageFailure } from "../shared/failure.ts";
import type { Flags } from "./flags.ts";

/** Flags about the Model Context Protocol, with the placeholders of their values. */
export const MCP_FLAGS = {
  "mcp-root": "PATH",
  "mcp-sandbox": "NAME",
  "mcp-tools": "NAMES",
  "mcp-ask": "NAMES",
};
export const REPEATABLE_MCP_FLAGS = ["mcp-root"];
export const MCP_SWITCHES = ["mcp", "mcp-network"];

const SANDBOXES = ["workspace-write", "read-only", "none"] as const;

/** Undefined if it is not served. Flags override the file. */
export function parseMcp(
  flags: Flags,
  configured: McpToolOptions | false | undefined,
  { kind }: ListenAddress,
  hasAuthentication: boolean,
): McpToolOptions | undefined {
  if (!flags.has("mcp") && !configured) {
    const misplaced = [...Object.keys(MCP_FLAGS), "mcp-network"].find((name) => flags.has(name));
    if (misplaced === undefined) return undefined;
    throw usageFailure(`the argument '--${misplaced}' needs '--mcp'`);
  }
  if (kind === "none" || kind === "stdio")
    throw usageFailure("the argument '--mcp' needs an address: --listen ws://, wss:// or unix://");
  if (!hasAuthentication)
    throw usageFailure(
      "the argument '--mcp' needs '--ws-auth <MODE>', on every address: MCP clients show who they are with a token",
    );
  const fromFile = configured || {};
  const tools = names(flags.get("mcp-tools"));
  if (tools?.length === 0) throw flags.invalid("mcp-tools", "expected names such as read_file,search_files");
  return {
    ...fromFile,
    ...defined({
      roots: flags.has("mcp-root") ? flags.all("mcp-root").map((path) => resolve(path)) : undefined,
      sandbox: flags.choice("mcp-sandbox", SANDBOXES),
      network: flags.has("mcp-network") ? true : undefined,
      tools,
      ask: names(flags.get("mcp-ask")),
    }),
  };
}

const names = (text: string | undefined): readonly string[] | undefined =>
  text
    ?.split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === "string" && each !== "");

/** What the table `mcp` of a configuration file may hold: whether a value fits, and what would. */
const KEYS: Readonly<Record<keyof McpToolOptions, readonly [(value: unknown) => boolean, string]>> = {
  roots: [isTexts, "an array of paths"],
  sandbox: [
    (value) => SANDBOXES.some((name) => name === value),
    `one of ${SANDBOXES.map((name) => `"${name}"`).join(", ")}`,
  ],
  network: [(value) => typeof value === "boolean", "true or false"],
  tools: [isTexts, "an array of names"],
  ask: [isTexts, "an array of names"],
};

/** Reads `mcp` of a configuration file: true, false, or a table. */
export function readMcp(value: unknown, refuse: Refuse): McpToolOptions | false {
  if (typeof value === "boolean") return value ? {} : false;
  if (!isTable(value))
    throw refuse("mcp", `must be true, false, or a table with ${Object.keys(KEYS).join(", ")}`);
  for (const [key, each] of Object.entries(value)) {
    if (!Object.hasOwn(KEYS, key)) throw refuse(`mcp.${key}`, "is not a known key");
    const [fits, expected] = KEYS[key as keyof McpToolOptions];
    if (!fits(each)) throw refuse(`mcp.${key}`, `must be ${expected}`);
  }
  return value;
}
