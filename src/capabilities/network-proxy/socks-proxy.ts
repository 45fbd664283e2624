import { createServer, type Server, type Socket } from "node:net";
import { attemptOf } from "./gatekeeper.ts";
import type { Destination } from "./destination.ts";
import { connectOutward } from "./outward.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { formatReply, type Socks5Reply } from "./socks5.ts";
import { acceptSocks, refuseSocks } from "./socks-handshake.ts";
import { tunnel } from "./tunnel.ts";

/** The SOCKS 5 proxy of one process. It knows CONNECT only. */
export function createSocksProxy(context: ProxyContext): Server {
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    acceptSocks(socket, (wanted) => {
      void context.slots
        .with(() => serve(context, socket, wanted))
        .then((served) => {
          if (served === "full") refuseSocks(socket, "refused");
        });
    });
  });
}

async function serve(
  context: ProxyContext,
  socket: Socket,
  wanted: Destination | Socks5Reply,
): Promise<void> {
  if (typeof wanted === "string") {
    refuseSocks(socket, wanted);
    return;
  }
  // The client may take its time to decide.
  socket.setTimeout(0);
  const decided = await context.gatekeeper.admit(attemptOf("socks5_tcp", wanted, socket), context.signal);
  if ("decision" in decided) {
    refuseSocks(socket, "notAllowed");
    return;
  }
  const { inspector, secrets } = context;
  if (secrets?.isInClear(wanted.port, decided.addresses) === true) {
    refuseSocks(socket, "notAllowed");
    return;
  }
  if (inspector?.inspects(wanted) === true) {
    socket.write(formatReply("succeeded"));
    inspector.take(socket, Buffer.alloc(0), wanted, decided.addresses);
    await closed(socket);
    return;
  }
  let outer: Socket;
  try {
    outer = await connectOutward(decided.addresses, wanted.port, context.signal);
  } catch {
    refuseSocks(socket, "refused");
    return;
  }
  socket.write(formatReply("succeeded"));
  tunnel(socket, outer);
  await closed(socket);
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.destroyed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}
