import type { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { settledWithin } from "../base/deadlines.ts";
import { messageOf } from "../base/errors.ts";
import { openStdioStreams } from "../transport/stdio.ts";
import { McpClient, type McpOptions } from "./mcp-client.ts";
import { LineChannel } from "./stdio/line-channel.ts";

/** How long the machine has to end the processes of a client that has gone. */
const END_TIMEOUT_MS = 3_000;

/**
 * Serves the client on stdin and stdout until it goes, or the signal is aborted; then its processes have ended, if the
 * machine could be reached.
 */
export async function serveMcpStdio(options: McpOptions, signal: AbortSignal): Promise<void> {
  const client = new McpClient(options);
  const { input, output } = openStdioStreams();
  const channel = new LineChannel(input, output);
  const onerror = (error: Error): void => options.logger.warn("MCP", { reason: error.message });
  let hasGone = false;
  const prepare = (): void =>
    void client.prepare().catch((error: unknown) => {
      // The first call says so, too.
      if (!hasGone) options.logger.warn("not ready", { reason: messageOf(error) });
    });
  const serve = (): Server => {
    // Not before the client has its first answer.
    setImmediate(prepare);
    return client.server();
  };
  const handle = serveStdio(serve, { transport: channel, onerror });
  signal.addEventListener("abort", () => void handle.close(), { once: true });
  if (signal.aborted) void handle.close();
  await channel.closed;
  hasGone = true;
  await settledWithin(client[Symbol.asyncDispose](), END_TIMEOUT_MS);
}
