import { closeSync } from "node:fs";
import { NameResolver } from "../../capabilities/network-proxy/name-resolver.ts";
import {
  NetworkProxy,
  type NetworkProxyOptions,
  type ProxyPorts,
} from "../../capabilities/network-proxy/network-proxy.ts";
import type { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { proxyEnvironment } from "../../capabilities/network-proxy/proxy-environment.ts";
import { SharedLimit } from "../../capabilities/network-proxy/proxy-context.ts";
import { trustEnvironment } from "../../capabilities/network-proxy/inspection/trust-environment.ts";
import { maskSecrets } from "../../capabilities/network-proxy/secrets/masked-secrets.ts";
import { TRUST_PATH } from "../../capabilities/sandbox/bubblewrap/bubblewrap-arguments.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import { openSocketPair, receiveDescriptors } from "../../native/descriptor-passing.ts";
import { osError } from "../../native/os-error.ts";
import { maxOpenFiles } from "../../native/resource-limits.ts";
import { forbidInspection } from "../../native/privileges.ts";
import { BundleFiles } from "./bundle-files.ts";
import { Inspection } from "./inspection.ts";
import type { NetworkLaunch } from "./network-launch.ts";
import type { PolicyClient } from "./policy-client.ts";

/** Ports inside a sandbox, which has its own network. */
const INNER_PORTS = { http: 48_080, socks: 48_081 } as const;
/** Time for a sandbox to be built. */
const LISTENERS_TIMEOUT_MS = 30_000;

const SOCKETS_SHARE = 0.25;
const MIN_SOCKETS = 32;

type Environment = Readonly<Record<string, string | undefined>>;

/** What a network is opened with. */
interface Opening {
  readonly launch: NetworkLaunch;
  readonly hidden?: NetworkProxyOptions["hidden"];
}

/** A process's network while it is started and runs. */
export interface ProcessNetwork {
  /** The start, with what the process needs to find its proxy. */
  readonly request: StartRequest;
  /** The process has been started, or will not be. */
  started(): void;
  /** The process has ended. */
  close(): void;
}

/** Opens the networks of processes. */
export class ProcessNetworks {
  readonly #resolver = new NameResolver();
  /** Made when the first process has a proxy. */
  #sockets: SharedLimit | undefined;
  readonly #own: OwnListeners;
  readonly #environment: Environment;
  readonly #bundles = new BundleFiles();
  #inspection: Inspection | undefined;

  /** `environment` is the server's. */
  constructor(own: OwnListeners, environment: Environment) {
    this.#own = own;
    this.#environment = environment;
  }

  /** Rejects with an error of the system. */
  async open(
    processId: string,
    request: StartRequest,
    { launch, client }: { launch: NetworkLaunch; client: PolicyClient },
  ): Promise<ProcessNetwork> {
    if (launch.hidden === undefined) return this.#open(processId, request, { launch, client });
    const { env, secrets } = maskSecrets(request.env, launch.hidden);
    const trusted = this.#trusting({ ...request, env });
    try {
      const hidden = { secrets, means: this.#means() };
      const opened = await this.#open(processId, trusted.request, { launch, client, hidden });
      return {
        ...opened,
        close: () => {
          opened.close();
          trusted.close();
        },
      };
    } catch (error) {
      trusted.close();
      throw error;
    }
  }

  /** The same request with the certificates that its programs have to trust. */
  #trusting(request: StartRequest): { readonly request: StartRequest; close(): void } {
    const { confinement, env } = request;
    const withTrust = (path: string): Map<string, string> =>
      new Map([...env, ...trustEnvironment(path, env, this.#environment)]);
    if (confinement === undefined) {
      const file = this.#bundles.write(this.#means().bundle);
      return { request: { ...request, env: withTrust(file.path) }, close: () => file.remove() };
    }
    const trust = this.#means().bundle;
    return {
      request: { ...request, env: withTrust(TRUST_PATH), confinement: { ...confinement, trust } },
      close: () => {},
    };
  }

  #means(): Inspection {
    if (this.#inspection === undefined) {
      this.#inspection = new Inspection(this.#environment);
      // From now on, this program's memory holds what its own processes must not read.
      forbidInspection();
    }
    return this.#inspection;
  }

  async #open(
    processId: string,
    request: StartRequest,
    opening: Opening & { client: PolicyClient },
  ): Promise<ProcessNetwork> {
    const { launch, client, hidden } = opening;
    const network = request.confinement?.network;
    if (network === "restricted") return unreachable(request, opening);
    const { rules, socks, askTimeoutMs: timeoutMs } = launch;
    const proxy = new NetworkProxy({
      rules,
      socks,
      hidden,
      resolver: this.#resolver,
      sockets: this.#sharedSockets(),
      isOwn: (ip, port) => this.#own.includes(ip, port),
      report: (decision) => client.report(processId, decision),
      ...(timeoutMs === undefined
        ? {}
        : { ask: (attempt, signal) => client.ask(processId, attempt, { timeoutMs, signal }) }),
    });
    return network === "proxied"
      ? insideSandbox(proxy, request, opening)
      : this.#onThisMachine(proxy, request, opening);
  }

  async #onThisMachine(
    proxy: NetworkProxy,
    request: StartRequest,
    opening: Opening,
  ): Promise<ProcessNetwork> {
    const ports = await proxy.listen().catch((error: NodeJS.ErrnoException) => {
      throw error.errno === undefined ? error : osError(Math.abs(error.errno));
    });
    const listened = Object.values(ports).filter((port) => port !== undefined);
    for (const port of listened) this.#own.add(port);
    return {
      request: { ...request, env: withProxy(request.env, ports, opening) },
      started: () => {},
      close: () => {
        for (const port of listened) this.#own.remove(port);
        proxy.close();
      },
    };
  }

  #sharedSockets(): SharedLimit {
    this.#sockets ??= new SharedLimit(maxSockets());
    return this.#sockets;
  }
}

/** A share of the descriptors, so that files, connections and starts always have the rest. */
function maxSockets(): number {
  return Math.max(MIN_SOCKETS, Math.floor(maxOpenFiles() * SOCKETS_SHARE));
}

/** A process without a network could not connect to a proxy, but other programs could: so nothing listens. */
function unreachable(request: StartRequest, opening: Opening): ProcessNetwork {
  return {
    request: { ...request, env: withProxy(request.env, innerPorts(opening), opening) },
    started: () => {},
    close: () => {},
  };
}

/** The sandbox itself listens, and hands its listeners out. Nothing that it runs can do that, or undo it. */
function insideSandbox(proxy: NetworkProxy, request: StartRequest, opening: Opening): ProcessNetwork {
  const { own, childs } = openSocketPair();
  const ports = innerPorts(opening);
  const listened = Object.values(ports).filter((port) => port !== undefined);
  const waiting = new AbortController();
  const close = (): void => {
    waiting.abort();
    proxy.close();
  };
  return {
    request: {
      ...request,
      env: withProxy(request.env, ports, opening),
      confinement: { ...request.confinement!, listeners: { ports: listened, socket: childs } },
    },
    started: () => {
      closeSync(childs);
      receiveDescriptors(own, listened.length, { timeoutMs: LISTENERS_TIMEOUT_MS, signal: waiting.signal })
        .then((descriptors) => proxy.adopt(descriptors), close)
        .finally(() => closeSync(own));
    },
    close,
  };
}

function innerPorts({ launch }: Opening): ProxyPorts {
  return { http: INNER_PORTS.http, socks: launch.socks ? INNER_PORTS.socks : undefined };
}

function withProxy(
  env: ReadonlyMap<string, string>,
  { http, socks }: ProxyPorts,
  { launch, hidden }: Opening,
): Map<string, string> {
  const { allowLocal } = launch;
  const secretHosts = hidden?.secrets.hosts ?? [];
  return new Map([
    ...env,
    ...proxyEnvironment({ httpPort: http, socksPort: socks, allowLocal, secretHosts }),
  ]);
}
