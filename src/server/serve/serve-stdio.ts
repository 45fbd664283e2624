import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { openStdioTransport } from "../../transport/stdio.ts";
import { type ListeningServer, listeningServer } from "./listening-server.ts";
import { createServerFor } from "./server.ts";
import type { ServerOptions } from "../settings/server-options.ts";

/** Serves the one client on stdin and stdout of this program, and ends with it. */
export async function serveStdio(options: ServerOptions): Promise<ListeningServer> {
  // The server ends with its client, and nothing it runs would be kept.
  const server = createServerFor(new OwnListeners(), { ...options, keepProcesses: false });
  try {
    await server.prepare();
    const transport = openStdioTransport(options.limits?.maxMessageBytes);
    const serving = listeningServer(server, { url: "stdio", stop: () => server.close() });
    server.accept(transport, {
      resumable: false,
      from: "stdio",
      // `closed` reports a failure.
      ended: () => void serving.close().catch(() => {}),
    });
    return serving;
  } catch (error) {
    await server.close();
    throw error;
  }
}
