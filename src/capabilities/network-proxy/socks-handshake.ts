import type { Socket } from "node:net";
import type { Destination } from "./destination.ts";
import {
  formatReply,
  parseGreeting,
  parseRequest,
  SOCKS5_METHOD_CHOSEN,
  SOCKS5_NO_METHOD,
  Socks5Error,
  type Socks5Reply,
} from "./socks5.ts";

const HANDSHAKE_TIMEOUT_MS = 30_000;
/** Time for a refused client to take the answer. */
const FAREWELL_TIMEOUT_MS = 5_000;

/**
 * Reads the greeting and the request of a SOCKS 5 client, and calls `requested` with the destination, or with the reply
 * that refuses the request. The rest of what was read goes back to the socket, which is paused. A client gets 30 s.
 */
export function acceptSocks(socket: Socket, requested: (wanted: Destination | Socks5Reply) => void): void {
  socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy());
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

/** Sends the reply that refuses a request, and ends the connection. */
export function refuseSocks(socket: Socket, reply: Socks5Reply): void {
  farewell(socket, formatReply(reply));
}

function farewell(socket: Socket, bytes: Uint8Array): void {
  socket.setTimeout(FAREWELL_TIMEOUT_MS, () => socket.destroy());
  socket.end(bytes);
  socket.resume();
}
