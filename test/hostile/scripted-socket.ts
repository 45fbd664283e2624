import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { ScriptedServer, ServedTransport } from "./scripted-server.ts";

/** Lets a scripted server listen on its own port. */
export async function listenOnSocket(
  server: ScriptedServer,
): Promise<AsyncDisposable & { readonly url: string }> {
  const listener = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  listener.on("connection", (socket) => server.serve(transportOf(socket)));
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of listener.clients) socket.terminate();
    await new Promise((resolve) => listener.close(resolve));
  };
  return { url: `ws://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}

function transportOf(socket: WebSocket): ServedTransport {
  // A client may leave in the middle of a message.
  socket.on("error", () => {});
  return {
    open: (events) => {
      socket.on("message", (data: Buffer) => events.message(data.toString()));
      socket.on("close", () => events.close());
    },
    send: (message) => {
      if (socket.readyState === socket.OPEN) socket.send(message);
    },
    destroy: () => socket.terminate(),
  };
}
