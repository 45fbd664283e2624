import { constants, type X509Certificate } from "node:crypto";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { defined } from "../../base/defined.ts";
import { certificateFault, certificatesIn, isSignedByAny } from "./client-certificates.ts";
import { formatRefusal } from "./http-refusal.ts";
import type { PendingSockets } from "./pending-sockets.ts";
import { addressOf, TCP_OPTIONS } from "./socket-address.ts";

/** A server's certificate, and the authorities that it trusts, as PEM. */
export interface TlsMaterial {
  /** Certificate of the server, and those between it and the root. */
  readonly cert: string;
  readonly key: string;
  /** Certificates that sign those of clients. If set, every client must present one. */
  readonly clientCa?: string | undefined;
}

export interface TlsOptions extends TlsMaterial {
  /** Receives the reason when a handshake fails. */
  readonly refused?: (reason: string, from: string) => void;
}

export interface TlsFront {
  /** The server that listens. */
  readonly listener: Server;
  /** Switches to other certificates. Throws if they do not match, and keeps the current ones. */
  renew(material: TlsMaterial): void;
}

/** First byte of every TLS handshake. No HTTP request starts with it. */
const TLS_HANDSHAKE = 0x16;
/** A browser that tries HTTP/2 first learns that it is not supported. */
const ALPN = ["http/1.1"];
const MIN_VERSION = "TLSv1.2";

const PLAIN_TEXT: string = formatRefusal({
  status: 400,
  body: "this port speaks TLS: connect with wss:// instead of ws://",
});

/**
 * Puts TLS in front of an HTTP server. Sockets are pending from the moment they connect, so that a slow handshake counts
 * like a slow request. Clients that speak plain HTTP get an answer that says so.
 */
export function tlsFront(http: HttpServer, options: TlsOptions, pending: PendingSockets): TlsFront {
  const { refused } = options;
  /** Sockets whose certificates were verified. They end when their authority is no longer trusted. */
  const verified = new Set<TLSSocket>();
  let { clientCa } = options;
  /** Others than in the beginning. */
  let authorities: readonly X509Certificate[] | undefined;
  const handshakes = new Map<string, Socket>();
  const tls = createTlsServer({
    ...contextOf(options),
    requestCert: options.clientCa !== undefined,
    // Checked below: otherwise neither side would learn why it failed.
    rejectUnauthorized: false,
    ALPNProtocols: ALPN,
  });
  tls.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    // A disconnected peer no longer has an address; the end of its plain socket is reported below.
    if (socket.remoteAddress !== undefined) {
      refused?.(handshakeFault(error), addressOf(socket));
      handshakes.delete(endsOf(socket));
    }
    socket.destroy();
  });
  tls.on("secureConnection", (socket) => {
    socket.on("error", () => socket.destroy());
    const plain = handshakes.get(endsOf(socket));
    if (plain === undefined) {
      socket.destroy();
      return;
    }
    handshakes.delete(endsOf(socket));
    pending.replace(plain, socket);
    const fault = clientCa === undefined ? undefined : (certificateFault(socket) ?? authorityFault(socket));
    if (fault === undefined) {
      if (clientCa !== undefined) remember(socket);
      http.emit("connection", socket);
      return;
    }
    refused?.(fault, addressOf(socket));
    pending.turnAway(socket, formatRefusal({ status: 403, body: fault }));
  });

  const listener = createServer(TCP_OPTIONS, (socket) => {
    pending.admit(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", (first) => {
      // TLS takes what has been read, if it is put back.
      socket.pause();
      socket.unshift(first);
      pending.asked(socket);
      if (first[0] === TLS_HANDSHAKE) secure(socket);
      else {
        refused?.("plain HTTP instead of TLS", addressOf(socket));
        pending.turnAway(socket, PLAIN_TEXT);
      }
    });
  });
  const secure = (socket: Socket): void => {
    const ends = endsOf(socket);
    const from = addressOf(socket);
    handshakes.set(ends, socket);
    socket.once("close", () => {
      if (handshakes.get(ends) !== socket) return;
      handshakes.delete(ends);
      refused?.("the TLS handshake did not finish; the client may not trust the certificate", from);
    });
    tls.emit("connection", socket);
  };
  const remember = (socket: TLSSocket): void => {
    verified.add(socket);
    socket.once("close", () => verified.delete(socket));
  };
  /** A handshake may have begun with other authorities. */
  const authorityFault = (socket: TLSSocket): string | undefined =>
    authorities === undefined || isSignedByAny(socket, authorities)
      ? undefined
      : "the authority of the client certificate is no longer trusted";
  const renew = (material: TlsMaterial): void => {
    tls.setSecureContext(contextOf(material));
    if (material.clientCa === undefined || material.clientCa === clientCa) return;
    ({ clientCa } = material);
    authorities = certificatesIn(material.clientCa);
    for (const socket of verified) {
      const fault = authorityFault(socket);
      if (fault === undefined) continue;
      refused?.(fault, addressOf(socket));
      socket.destroy();
    }
  };
  return { listener, renew };
}

function contextOf({ cert, key, clientCa }: TlsMaterial) {
  return {
    cert,
    key,
    ...defined({ ca: clientCa }),
    minVersion: MIN_VERSION,
    // A ticket would stand for a client certificate that has expired since.
    secureOptions:
      constants.SSL_OP_NO_RENEGOTIATION | (clientCa === undefined ? 0 : constants.SSL_OP_NO_TICKET),
  } as const;
}

function handshakeFault({ code, message, reason }: NodeJS.ErrnoException & { reason?: string }): string {
  return `the TLS handshake failed: ${reason ?? code ?? message}`;
}

/** Distinguishes the connections of one listener. */
function endsOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
