import { createServer, type Server, type Socket } from "node:net";
import type { Attempt } from "./gatekeeper.ts";
import type { Destination } from "./destination.ts";
import { connectOutward } from "./outward.ts";
import type { ProxyContext } from "./proxy-context.ts";
import {
  formatReply,
  parseGreeting,
  parseRequest,
  SOCKS5_METHOD_CHOSEN,
  SOCKS5_NO_METHOD,
  Socks5Error,
  type Socks5Reply,
} from "./socks5.ts";
import { tunnel } from "./tunnel.ts";

const HANDSHAKE_TIMEOUT_MS = 30_000;
/** Time for a refused client to take the answer. */
const FAREWELL_TIMEOUT_MS = 5_000;

/** The SOCKS 5 proxy of one process. It knows CONNECT only. */
export function createSocksProxy(context: ProxyContext): Server {
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy());
    greet(socket, (wanted) => {
      void context.slots
        .with(() => serve(context, socket, wanted))
        .then((served) => {
          if (served === "full") refuse(socket, "refused");
        });
    });
  });
}

/** Reads greeting and request, and passes the request on. The rest of what was read goes back to the socket. */
function greet(socket: Socket, requested: (wanted: Destination | Socks5Reply) => void): void {
  let read: Buffer = Buffer.alloc(0);
  let greeted = false;
  const take = (chunk: Buffer): void => {
    read = Buffer.concat([read, chunk]);
    try {
      if (!greeted) {
        const greeting = parseGreeting(read);
        if (greeting === undefined) return;
        read = read.subarray(greeting.length);
        greeted = true;
        if (!greeting.value) {
          stop();
          farewell(socket, SOCKS5_NO_METHOD);
          return;
        }
        socket.write(SOCKS5_METHOD_CHOSEN);
      }
      const request = parseRequest(read);
      if (request === undefined) return;
      stop();
      socket.pause();
      const rest = read.subarray(request.length);
      if (rest.length > 0) socket.unshift(rest);
      requested(request.value);
    } catch (error) {
      if (!(error instanceof Socks5Error)) throw error;
      socket.destroy();
    }
  };
  const ended = (): void => {
    socket.destroy();
  };
  const stop = (): void => {
    socket.off("data", take);
    socket.off("end", ended);
  };
  socket.on("data", take);
  socket.on("end", ended);
}

async function serve(
  context: ProxyContext,
  socket: Socket,
  wanted: Destination | Socks5Reply,
): Promise<void> {
  if (typeof wanted === "string") {
    refuse(socket, wanted);
    return;
  }
  // The client may take its time to decide.
  socket.setTimeout(0);
  const decided = await context.gatekeeper.admit(attemptOf(wanted, socket), context.signal);
  if ("decision" in decided) {
    refuse(socket, "notAllowed");
    return;
  }
  let outer: Socket;
  try {
    outer = await connectOutward(decided.addresses, wanted.port, context.signal);
  } catch {
    refuse(socket, "refused");
    return;
  }
  socket.write(formatReply("succeeded"));
  tunnel(socket, outer);
  if (!socket.destroyed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}

function attemptOf({ host, port }: Destination, { remoteAddress, remotePort }: Socket): Attempt {
  return {
    protocol: "socks5_tcp",
    host,
    port,
    ...(remoteAddress === undefined ? {} : { client: `${remoteAddress}:${remotePort}` }),
  };
}

function refuse(socket: Socket, reply: Socks5Reply): void {
  farewell(socket, formatReply(reply));
}

function farewell(socket: Socket, bytes: Uint8Array): void {
  socket.setTimeout(FAREWELL_TIMEOUT_MS, () => socket.destroy());
  socket.end(bytes);
  socket.resume();
}
