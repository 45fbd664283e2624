import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { proxyCredentials } from "./route.ts";
import { type Opened, openSocket, secureTunnel } from "./socket.ts";
import { flatHeaders } from "./header.ts";
import type { UndiciClientConstructor } from "./undici.ts";

const SECURE_PORT = "443";

/** Requests a tunnel to a server from a proxy, and starts TLS through it. The returned handle cancels it. */
export function openTunnel(
  Client: UndiciClientConstructor,
  { proxy, server }: { proxy: URL; server: URL },
  opened: Opened,
): { destroy(): void } {
  let present: { destroy(): void } | undefined;
  const fail = (error: Error): void => {
    void client.destroy();
    opened(error, null);
  };
  const client = new Client("http://proxy", {
    connect: (_, callback) => {
      present = openSocket(proxy, callback as Opened);
    },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const target = `${server.hostname}:${server.port === "" ? SECURE_PORT : server.port}`;
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => {},
    onRequestUpgrade: (_, status, __, socket) => {
      if (status === 200) {
        void client.destroy();
        present = secureTunnel(socket as Socket, server, opened);
      } else {
        socket.destroy();
        fail(new Error(`the proxy answered ${status}`));
      }
    },
    onResponseError: (_, error) => fail(error),
  };
  const headers = flatHeaders([["host", target], ...proxyCredentials(proxy)]);
  client.dispatch({ method: "CONNECT", path: target, headers }, handler);
  return { destroy: () => present?.destroy() };
}
