import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Header } from "./http-request.ts";
import { ResponseReader } from "./response-reader.ts";
import { type Endpoint, tlsOptions } from "./upstream-connection.ts";
import { formatHead } from "./written-request.ts";

/** Asks a proxy for a way to `target`. `opened` gets the socket to it at once, so that it can be ended meanwhile. */
export function openTunnel(
  proxy: Endpoint,
  target: string,
  { headers, opened }: { headers: readonly Header[]; opened: (socket: Socket) => void },
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { host, port } = proxy;
    const socket = proxy.secure
      ? connectTls({ host, port, ...tlsOptions(proxy) })
      : connectTcp({ host, port, noDelay: true });
    opened(socket);
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    const closed = (): void => fail(new Error("the proxy closed the connection"));
    const reader = new ResponseReader("CONNECT", {
      head: ({ status }) => {
        if (status !== 200) fail(new Error(`the proxy answered ${status}`));
      },
      data: () => {},
      end: () => {
        socket.off("data", receive).off("error", fail).off("close", closed);
        resolve(socket);
      },
    });
    const receive = (bytes: Buffer): void => {
      try {
        reader.read(bytes);
      } catch (error) {
        fail(error as Error);
      }
    };
    socket.on("data", receive).on("error", fail).on("close", closed);
    socket.write(formatHead(`CONNECT ${target} HTTP/1.1`, [["host", target], ...headers]), "latin1");
  });
}
