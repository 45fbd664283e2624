import { CapabilityError, UsageError } from "../base/errors.ts";
import { silentLogger } from "../base/logger.ts";
import { OwnListeners } from "../capabilities/network-proxy/own-listeners.ts";
import { describeErrno } from "../native/os-error.ts";
import { listenWebSocket, type ListenPlace } from "../transport/websocket/websocket-server.ts";
import { type AuthenticationPolicy, createAuthenticator } from "./access/authentication.ts";
import type { Credential } from "./access/credential.ts";
import { formatListenUrl, isExposed, parseListenUrl } from "./listen-address.ts";
import { combineObservers } from "./observer.ts";
import { createServerFor, type Server, type ServerOptions } from "./server.ts";

/** Where a server listens, and whom it admits. */
export interface ServeOptions extends ServerOptions {
  /**
   * `ws://IP:PORT`, where port 0 picks a free port, or `unix:///PATH` for a socket that only this user can connect to.
   * Default: `ws://127.0.0.1:0`.
   */
  readonly listen?: string;
  /** Who may connect. Default: everyone who can reach the server. */
  readonly authentication?: AuthenticationPolicy | undefined;
  /** Allows an address that other machines can reach without authentication. Default: false. */
  readonly insecureNoAuth?: boolean;
}

/** A listening server. */
export interface ListeningServer extends Server, AsyncDisposable {
  /** The URL for clients: `ws://127.0.0.1:38977`, or `ws+unix:///run/exec.sock`. */
  readonly url: string;
  /** Stops listening, kills all processes and closes every connection. */
  close(): Promise<void>;
}

/**
 * Starts a server and listens. Throws a UsageError for an impossible address or limit, and a CapabilityError if the
 * machine refuses.
 */
export async function serve(options: ServeOptions = {}): Promise<ListeningServer> {
  const { listen = "ws://127.0.0.1:0", authentication, insecureNoAuth = false } = options;
  const address = parseListenUrl(listen);
  if (address.kind === "stdio")
    throw new UsageError("serve() does not serve stdio: give it ws:// or unix://");
  if (isExposed(address) && authentication === undefined && !insecureNoAuth)
    throw new UsageError(
      `refusing to listen on \`${listen}\` without authentication: anyone who reaches it could run commands here; set authentication, or insecureNoAuth to do it all the same`,
    );
  const listeners = new OwnListeners();
  const server = createServerFor(listeners, "path" in address ? hiding(address.path, options) : options);
  try {
    const listener = await listenFor(server, address, options);
    if ("port" in address) listeners.add(Number(new URL(listener.url).port));
    const close = async (): Promise<void> => {
      await Promise.all([listener.close(), server.close()]);
    };
    return {
      url: listener.url,
      refusal: () => server.refusal(),
      exclude: (ends) => server.exclude(ends),
      accept: (transport, accepted) => server.accept(transport, accepted),
      link: (events) => server.link(events),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await server.close();
    throw listenError(error, address);
  }
}

/** Whoever reaches the socket can ask for a process without a sandbox. */
function hiding(socket: string, options: ServerOptions): ServerOptions {
  return { ...options, hiddenPaths: [...(options.hiddenPaths ?? []), socket] };
}

function listenFor(server: Server, place: ListenPlace, options: ServeOptions) {
  const { authentication, limits, logger } = options;
  const maxMessageBytes = limits?.maxMessageBytes;
  const observer = combineObservers(options.observers ?? []);
  return listenWebSocket({
    ...place,
    ...(authentication === undefined
      ? {}
      : { authenticate: createAuthenticator(authentication, logger ?? silentLogger) }),
    ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
    maxPendingConnections: limits?.maxPendingConnections,
    handshakeTimeoutMs: limits?.handshakeTimeoutMs,
    // With authentication, a sandbox does not get in: no policy shows it the secret.
    ...(authentication === undefined ? { exclude: (ends) => server.exclude(ends) } : {}),
    refuse: () => server.refusal(),
    refused: (connection) => observer?.refused?.(connection),
    accept: (transport, credential: Credential | undefined) => {
      server.accept(transport, credential === undefined ? {} : { credential });
    },
  });
}

/** The error of the system with the address that was asked for. */
function listenError(error: unknown, place: ListenPlace): unknown {
  const { code, errno } = error as NodeJS.ErrnoException;
  if (code === undefined || typeof errno !== "number") return error;
  const shown = "path" in place ? place.path : formatListenUrl(place.host, place.port);
  return new CapabilityError(
    "OS_ERROR",
    `cannot listen on ${shown}: ${describeErrno(code, Math.abs(errno))}`,
    { errno: code, cause: error },
  );
}
