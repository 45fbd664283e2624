import type { ServerResponse } from "node:http";
import { type Logger } from "../../base/logger.ts";
import type { McpToolOptions } from "../../mcp/tool-options.ts";
import { createMemoryPair } from "../../transport/memory.ts";
import type { Endpoint } from "../../transport/websocket/http-endpoint.ts";
import { addressOf } from "../../transport/websocket/socket-address.ts";
import type { Transport } from "../../transport/transport.ts";
import { type Credential, watchValidity } from "../access/credential.ts";
import { resolveLimits, type ServerLimits } from "../settings/limits.ts";
import { ConnectionError } from "../../base/errors.ts";
import type { ObservedServer } from "./server.ts";

export type { McpToolOptions } from "../../mcp/tool-options.ts";

interface McpSurroundings {
  readonly limits?: Partial<ServerLimits>;
  readonly version?: string | undefined;
  readonly logger: Logger;
}

/** What clients of the Model Context Protocol send in headers, besides what any page may. */
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
];
const RESPONSE_HEADERS = ["mcp-session-id", "www-authenticate"];

/** Serves the Model Context Protocol. Each of its sessions is a client of the server, with the rights of its token. */
export async function mcpEndpoint(
  server: ObservedServer,
  options: McpToolOptions,
  { limits, version = "unknown", logger }: McpSurroundings,
): Promise<Endpoint & { close(): Promise<void> }> {
  // Only servers with this endpoint load it.
  const { mcpOverHttp } = await import("../../mcp/serve-http.ts");
  const { maxMcpSessions: maxSessions, mcpSessionIdleMs: sessionIdleMs } = resolveLimits(limits);
  const http = mcpOverHttp({ ...options, maxSessions, sessionIdleMs, version, logger });
  return {
    requestHeaders: REQUEST_HEADERS,
    responseHeaders: RESPONSE_HEADERS,
    refuse: (credential) => refusePreset(credential as Credential),
    answer: async (request, response, presented) => {
      const credential = presented as Credential;
      endWith(credential, response);
      const { principal, rights } = credential;
      const from = `mcp ${addressOf(request.socket)}`;
      await http.answer(request, response, {
        key: JSON.stringify([principal, rights.key]),
        connect: () => open(server, credential, from),
        files: rights.files && { roots: rights.files.roots, readOnly: !rights.allows("writeFiles") },
      });
    },
    close: () => http.close(),
  };
}

function refusePreset({ rights }: Credential): string | undefined {
  if (rights.allows("readFiles")) return undefined;
  return `the preset ${rights.preset} has neither commands nor files, so there are no tools`;
}

/** No answer and no stream outlives the token. */
function endWith(credential: Credential, response: ServerResponse): void {
  const forget = watchValidity(credential, () => response.destroy());
  response.once("close", forget);
}

function open(server: ObservedServer, credential: Credential, from: string): Transport {
  const { withdrawn, expiresAtMs = Number.POSITIVE_INFINITY } = credential;
  if (withdrawn?.aborted === true || expiresAtMs <= Date.now())
    throw new ConnectionError("the token is no longer valid");
  const [ours, theirs] = createMemoryPair();
  server.accept(theirs, { credential, from });
  return ours;
}
