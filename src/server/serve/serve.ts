import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CapabilityError, UsageError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import { DurableDirectory } from "../durable/durable-directory.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { forbidInspection } from "../../native/privileges.ts";
import { describeErrno } from "../../native/os-error.ts";
import { createMemoryPair } from "../../transport/memory.ts";
import { openStdioTransport } from "../../transport/stdio.ts";
import type { Transport } from "../../transport/transport.ts";
import { listenWebSocket, type WebSocketListener } from "../../transport/websocket/websocket-server.ts";
import { admissionFor, type AdmissionPolicy } from "./admission.ts";
import { Console, type ConsoleOptions } from "../console/console.ts";
import type { Credential } from "../access/credential.ts";
import { type Authenticator, createAuthenticator } from "../access/authentication.ts";
import { resolveRunAs } from "../access/run-as.ts";
import { RefusalLog } from "../access/refusal-log.ts";
import { rightsContext } from "../access/rights-context.ts";
import { formatListenUrl, isExposed, type ListenAddress, parseListenUrl } from "./listen-address.ts";
import { type McpToolOptions, mcpEndpoint } from "./mcp-endpoint.ts";
import { metricsPage } from "./metrics-page.ts";
import type { FleetOptions, JoinedFleet } from "./join-fleet.ts";
import type { RelayOptions } from "./join-relay.ts";
import type { RelayExecutor } from "../../relay/executor.ts";
import { ServerMetrics } from "../metrics/server-metrics.ts";
import { type ListeningServer, listeningServer } from "./listening-server.ts";
import { createServerFor, type ObservedServer } from "./server.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import { type ServerTls, TlsFiles } from "../access/tls-files.ts";

/** Listen address and admission policy of a server. */
export interface ServeOptions extends ServerOptions, AdmissionPolicy {
  /**
   * `ws://IP:PORT`, where port 0 picks a free port, `wss://IP:PORT` with `tls`, `ws://fd:NUMBER` for an open descriptor
   * of a TCP socket on which another program listens already, `unix:///PATH` for a socket that only this user can connect to, `stdio` for one client on stdin and stdout of this program, which must not be used for
   * anything else, or `none` for a server that is reached only through its `fleet` or `relay`. Default:
   * `ws://127.0.0.1:0`.
   */
  readonly listen?: string;
  /** Certificates, for `wss://`. */
  readonly tls?: ServerTls | undefined;
  /** Answers `/metrics`, for anyone who may connect. Default: false. */
  readonly metrics?: boolean;
  /**
   * Serves the Model Context Protocol at `/mcp`, for clients with a token: it needs `authentication`. Default: false.
   */
  readonly mcp?: boolean | McpToolOptions | undefined;
  /**
   * Serves the web console at `/`, if it listens on TCP. Browsers get in with a link that `consoleLink` makes, or with a
   * token if `authentication` is set. Default: false.
   */
  readonly console?: boolean | ConsoleOptions;
  /**
   * Joins a fleet, in which clients reach this server over NATS. It needs `authentication`, because anyone who reaches
   * NATS could connect. Default: none.
   */
  readonly fleet?: FleetOptions;
  /**
   * Registers with a relay, through which clients reach this server. The relay decides who they are: they have the rights
   * of clients without a token. If clients reach the server nowhere else, it waits until the relay can be reached.
   * Default: none.
   */
  readonly relay?: RelayOptions;
  /**
   * Does everything for clients in another program, a keeper, which outlives this one. The next server with the same
   * directory continues with it, and to clients it was a lost connection. Only for this program's own user; the directory
   * is created if there is none. Default: everything ends with this server.
   */
  readonly durable?: string;
  /** Allows an address that other machines can reach without authentication. Default: false. */
  readonly insecureNoAuth?: boolean;
}

/**
 * Starts a server and listens. Throws a UsageError for an impossible address or limit, and a CapabilityError if the
 * machine refuses.
 */
export async function serve(options: ServeOptions = {}): Promise<ListeningServer> {
  const { listen = "ws://127.0.0.1:0", authentication, tls, insecureNoAuth = false } = options;
  const address = parseListenUrl(listen);
  if (address.kind === "none" && options.fleet === undefined && options.relay === undefined)
    throw new UsageError(
      "a server that listens nowhere needs a fleet or a relay: set fleet or relay, or an address",
    );
  const isSecure = address.kind === "websocket" && address.isSecure;
  if (isSecure && tls === undefined)
    throw new UsageError("wss:// needs a certificate and its key: set tls.cert and tls.key");
  if (!isSecure && tls !== undefined) throw new UsageError(`tls needs wss://, not \`${listen}\``);
  const isOpen = authentication === undefined && tls?.clientCa === undefined;
  if (isExposed(address) && isOpen && !insecureNoAuth)
    throw new UsageError(
      `refusing to listen on \`${listen}\` without authentication: anyone who reaches it could run commands here; set authentication, or insecureNoAuth to do so anyway`,
    );
  if (options.fleet !== undefined && authentication === undefined && !insecureNoAuth)
    throw new UsageError(
      "refusing to join a fleet without authentication: anyone who reaches NATS could run commands here; set authentication, or insecureNoAuth to do so anyway",
    );
  if (options.mcp && authentication === undefined)
    throw new UsageError(
      "mcp needs authentication, on every address: MCP clients show who they are with a token",
    );
  if (options.mcp && !("port" in address || "path" in address))
    throw new UsageError("mcp needs an address to listen on");
  if (address.kind === "stdio") {
    if (authentication !== undefined || options.fleet !== undefined || options.relay !== undefined)
      throw new UsageError(
        "stdio takes no authentication, no fleet and no relay: the only client is the program that started this one",
      );
    if (options.durable !== undefined)
      throw new UsageError("stdio cannot be durable: its only client ends with the server");
    return serveStdio(options);
  }
  if (options.durable !== undefined && options.runAs !== undefined && !resolveRunAs(options.runAs).isOwn)
    throw new UsageError("a durable server does everything as its own user: it cannot run as another one");
  const durable = options.durable === undefined ? undefined : DurableDirectory.create(options.durable);
  // Secrets of clients pass through it. Where processes see only those that they could inspect, the keeper would no longer
  // see this one, and would refuse it.
  if (durable !== undefined && existsSync("/proc/1")) forbidInspection();
  let release: (() => void) | undefined;
  const logger = options.logger ?? silentLogger;
  const files = tls && new TlsFiles(tls, logger);
  const material = files?.load();
  const listeners = new OwnListeners();
  const table = authentication?.mode === "token-table" ? [resolve(authentication.path)] : [];
  const metrics = options.metrics ? new ServerMetrics() : undefined;
  const keyFile = typeof options.console === "object" ? options.console.keyFile : undefined;
  const observers = [...(options.observers ?? []), ...(metrics === undefined ? [] : [metrics])];
  const { credentials, nkey, key, ca, cert } = options.fleet ?? {};
  const ownFiles = {
    hiddenPaths: [
      ...(files?.secrets ?? []),
      ...table,
      ...resolved(credentials, nkey, key),
      ...(durable === undefined ? [] : [durable.path]),
    ],
    maskedPaths: resolved(keyFile),
    socketPaths: "path" in address ? [address.path] : [],
    trustedPaths: [...(files?.trusted ?? []), ...resolved(ca, cert)],
  };
  const observed = { ...options, observers };
  const console =
    address.kind === "websocket" && options.console
      ? new Console(options.console === true ? {} : options.console, {
          logger,
          version: options.version,
          isLocal: !isExposed(address),
          publicUrls: options.publicUrls ?? [],
          takesTokens: authentication !== undefined,
          connect: (credential) => connectPreview(server, credential),
          refused: (reason, from) => server?.observer?.refused?.({ cause: "login", reason, from }),
        })
      : undefined;
  let authenticator: Authenticator | undefined;
  let server: ObservedServer | undefined;
  let joinedFleet: JoinedFleet | undefined;
  let executor: RelayExecutor | undefined;
  let listener: WebSocketListener | undefined;
  let mcp: Awaited<ReturnType<typeof mcpEndpoint>> | undefined;
  let unwatch: (() => void) | undefined;
  const hasSuccessor = address.kind === "websocket" && address.fd !== undefined;
  const stop = async (): Promise<void> => {
    if (hasSuccessor) await listener?.leave();
    unwatch?.();
    authenticator?.close();
    console?.guests?.close();
    const unserved = [listener?.close(), mcp?.close()];
    await Promise.all([...unserved, server?.close()]);
    executor?.close();
    await joinedFleet?.leave();
    release?.();
  };
  try {
    release = durable?.claim();
    // Any given value must be a policy: nothing else may leave the server open.
    authenticator =
      authentication === undefined
        ? undefined
        : createAuthenticator(authentication, rightsContext(observed, ownFiles));
    await authenticator?.ready;
    const opened = createServerFor(listeners, observed, { files: ownFiles, console, durable });
    server = opened;
    await opened.prepare();
    if (options.fleet !== undefined) {
      // Only a fleet needs the NATS library.
      const { enterFleet } = await import("./join-fleet.ts");
      joinedFleet = await enterFleet(opened, options.fleet, {
        authenticator,
        logger,
        version: options.version,
        maxMessageBytes: options.limits?.maxMessageBytes,
        waits: address.kind === "none",
      });
    }
    if (options.relay !== undefined) {
      // Only a relay needs its cryptography.
      const { joinRelay } = await import("./join-relay.ts");
      const keepsTrying = address.kind !== "none" || options.fleet !== undefined;
      executor = await joinRelay(opened, options.relay, { ...options, keepsTrying });
    }
    if (options.mcp)
      mcp = await mcpEndpoint(opened, options.mcp === true ? {} : options.mcp, { ...options, logger });
    const log = new RefusalLog(logger);
    const localPreset = options.local?.preset ?? "full";
    listener =
      address.kind === "none"
        ? undefined
        : await listenWebSocket({
            ...address,
            ...(material === undefined
              ? {}
              : { tls: { ...material, refused: (reason, from) => log.refused(reason, from) } }),
            ...(metrics === undefined
              ? {}
              : { pages: new Map([["/metrics", await metricsPage(metrics, opened, localPreset)]]) }),
            ...(mcp === undefined ? {} : { endpoints: new Map([["/mcp", mcp]]) }),
            ...admissionFor(opened, options, {
              authenticator,
              requiresCertificate: tls?.clientCa !== undefined,
              isLocal: () => !isExposed(address),
              console,
            }),
          });
    unwatch = files?.watch((renewed) => listener?.renewTls(renewed));
    const url = listener?.url ?? urlWithoutListener(options);
    console?.listensOn(url);
    if ("port" in address) listeners.add(Number(new URL(url).port));
    return listeningServer(opened, {
      url,
      consoleLink: () => console?.link(),
      leave: async () => (hasSuccessor ? listener?.leave() : undefined),
      draining: () => joinedFleet?.announce(),
      stop,
    });
  } catch (error) {
    await stop();
    throw server === undefined ? error : listenError(error, address);
  }
}

/** A connection of a preview, which has the rights of the page that has opened it. */
async function connectPreview(
  server: ObservedServer | undefined,
  credential: Credential | undefined,
): Promise<Transport> {
  const [ours, theirs] = createMemoryPair();
  const accepted = { resumable: false, from: "preview" };
  server?.accept(theirs, credential === undefined ? accepted : { ...accepted, credential });
  return ours;
}

/** Serves the one client on stdin and stdout of this program, and ends with it. */
async function serveStdio(options: ServerOptions): Promise<ListeningServer> {
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

/** Name of a server without a listener in messages. */
function urlWithoutListener({ fleet, relay }: ServeOptions): string {
  return fleet === undefined ? `relay:${relay?.environmentId}` : `fleet:${fleet.id}`;
}

function resolved(...paths: readonly (string | undefined)[]): string[] {
  return paths.flatMap((path) => (path === undefined ? [] : [resolve(path)]));
}

/** The system's error, with the requested address. */
function listenError(error: unknown, address: ListenAddress): unknown {
  const { code, errno } = error as NodeJS.ErrnoException;
  if (code === undefined || typeof errno !== "number") return error;
  return new CapabilityError(
    "OS_ERROR",
    `cannot listen on ${formatListenUrl(address)}: ${describeErrno(code, Math.abs(errno))}`,
    { errno: code, cause: error },
  );
}
