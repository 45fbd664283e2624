import type { Server as HttpServer } from "node:http";
import { resolve } from "node:path";
import { UsageError } from "../../base/errors.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { attachWebSocket, isAttached } from "../../transport/websocket/attach-websocket.ts";
import { admissionFor, type AdmissionPolicy } from "./admission.ts";
import { createAuthenticator } from "../access/authentication.ts";
import { rightsContext } from "../access/rights-context.ts";
import { createServerFor, type ObservedServer, type Server } from "./server.ts";
import type { ServerOptions } from "../settings/server-options.ts";

/** The path of an HTTP server to serve on, and the admission policy. */
export interface AttachOptions extends ServerOptions, Omit<AdmissionPolicy, "allowLocalUsers"> {
  /** Path of the WebSocket. Default: `/exec`. */
  readonly path?: string;
  /** Admits everyone who can reach the HTTP server. Default: false, which requires `authentication`. */
  readonly insecureNoAuth?: boolean;
}

/** A server that is attached to an HTTP server. */
export interface AttachedServer extends Server, AsyncDisposable {
  /** Detaches from the HTTP server, kills all processes and closes every connection. The HTTP server keeps running. */
  close(): Promise<void>;
}

/**
 * Starts a server on one path of an HTTP or HTTPS server of this program, which may listen already or later. Hosts,
 * origins and tokens are checked as by `serve`. Throws a UsageError for options that admit the wrong ones.
 */
export function attach(http: HttpServer, options: AttachOptions): AttachedServer {
  const { path = "/exec", authentication, insecureNoAuth = false } = options;
  if (!path.startsWith("/") || /[?#\s]/.test(path))
    throw new UsageError(`invalid path \`${path}\`; expected one such as \`/exec\``);
  if (isAttached(http, path)) throw new UsageError(`a server is attached to \`${path}\` already`);
  if (authentication === undefined && !insecureNoAuth)
    throw new UsageError(
      "refusing to attach without authentication: anyone who reaches the HTTP server could run commands here; set authentication, or insecureNoAuth to do so anyway",
    );
  const listeners = new OwnListeners();
  const table = authentication?.mode === "token-table" ? [resolve(authentication.path)] : [];
  const files = { hiddenPaths: table };
  // Any given value must be a policy: nothing else may leave the server open.
  const authenticator =
    authentication === undefined
      ? undefined
      : createAuthenticator(authentication, rightsContext(options, files));
  let server: ObservedServer;
  try {
    server = createServerFor(listeners, options, { files });
  } catch (error) {
    authenticator?.close();
    throw error;
  }
  const detach = attachWebSocket(http, {
    path,
    ...admissionFor(server, options, { authenticator, requiresCertificate: false, isLocal: () => false }),
  });
  // Its own processes must not reach it through their proxies.
  const addListener = (): void => {
    const address = http.address();
    if (typeof address === "object" && address !== null) listeners.add(address.port);
  };
  if (http.listening) addListener();
  http.on("listening", addListener);
  const close = async (): Promise<void> => {
    http.off("listening", addListener);
    detach();
    authenticator?.close();
    await server.close();
  };
  return {
    refusal: (credential) => server.refusal(credential),
    exclude: (ends) => server.exclude(ends),
    accept: (transport, accepted) => server.accept(transport, accepted),
    state: () => server.state(),
    drain: () => server.drain(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
