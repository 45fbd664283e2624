import { hostname } from "node:os";
import { isAbsolute } from "node:path";
import { UsageError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { openHost } from "../client/host/open-host.ts";
import { transportConnector } from "../client/link/connectors.ts";
import type { Transport } from "../transport/transport.ts";
import { McpHttp } from "./http/mcp-http.ts";
import type { McpBearer } from "./http/mcp-session.ts";
import { OutputBudget } from "./processes/output-log.ts";
import { Machine } from "./machine/machine.ts";
import { type Capacity, McpClient, type McpOptions, ONE_CLIENT } from "./mcp-client.ts";
import type { McpToolOptions } from "./tool-options.ts";

/** A client with a token. */
export interface TokenBearer extends McpBearer {
  /** Connects to the server with the rights of the token. */
  readonly connect: () => Transport;
  /** The token allows only this, and no processes. */
  readonly files?: { readonly roots: readonly string[]; readonly readOnly: boolean } | undefined;
}

export interface ServeHttpOptions extends McpToolOptions {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
  readonly version: string;
  readonly logger: Logger;
}

/** Serves clients over HTTP. Each session is a client of the server. Throws a UsageError for a tool that does not exist. */
export function mcpOverHttp(options: ServeHttpOptions): McpHttp<TokenBearer> {
  const relative = options.roots?.find((root) => !isAbsolute(root));
  if (relative !== undefined) throw new UsageError(`an MCP root must be an absolute path, not '${relative}'`);
  // Whatever is wrong with the options shows before there is a client.
  void new McpClient(clientOptions(options, refuseToConnect, undefined));
  const outputBudget = new OutputBudget(MAX_OUTPUT_BYTES);
  const openTo = (latest: () => TokenBearer): McpOptions => ({
    ...clientOptions(options, () => latest().connect(), latest().files),
    outputBudget,
  });
  return new McpHttp<TokenBearer>({
    ...options,
    open: (latest, kind) =>
      new McpClient({ ...openTo(latest), capacity: kind === "own" ? ONE_CLIENT : ALL_CLIENTS }),
  });
}

/** Output that is kept for `read_output`, of all clients. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
/** Of all clients of a token whose protocol has no sessions. */
const ALL_CLIENTS: Capacity = { calls: 512, commands: 256 };

function refuseToConnect(): never {
  throw new Error("this client only checks options");
}

function clientOptions(
  { roots = [], sandbox = "workspace-write", network = false, tools, ask, version, logger }: ServeHttpOptions,
  open: () => Transport,
  files: TokenBearer["files"],
): McpOptions {
  const machine = new Machine({
    name: hostname(),
    isLocal: false,
    // A renewed token is used for the next connection, if this one ends with the old one.
    open: (signal) =>
      openHost(
        transportConnector(async () => open(), { resumable: true, onMessage: undefined }),
        {
          clientName: "exec-server-mcp",
          signal,
          logger,
        },
      ),
  });
  const shared = { machine, tools, ask, env: {}, version, logger };
  if (files === undefined) return { ...shared, roots, confinement: sandbox, network };
  const readOnly = files.readOnly || sandbox === "read-only";
  return { ...shared, roots: files.roots, confinement: "files", readOnly, network: false };
}
