import { setTimeout as delay } from "node:timers/promises";
import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { settledWithin } from "../../base/deadlines.ts";
import { isHeldOutside, isInOwnSandbox } from "../../capabilities/host/connection-owner.ts";
import { peerProcess } from "../../native/peer-process.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import { ConnectionAdmission } from "../../native/descriptor-reserve.ts";
import { assertCanServe } from "../../native/platform.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Credential } from "../access/credential.ts";
import { RefusalLog } from "../access/refusal-log.ts";
import type { Audit } from "../audit/audit.ts";
import { ClientConnection } from "../clients/client-connection.ts";
import { ConnectionObservation } from "../wire/observation.ts";
import { RequestObservers } from "../wire/request-observers.ts";
import type { Cordon } from "../settings/cordon.ts";
import { warnDeprecated } from "./deprecation.ts";
import { limitError } from "../settings/limits.ts";
import { combineObservers, type ServerObserver } from "../settings/observer.ts";
import type { RunAs } from "../access/run-as.ts";
import type { AdmittedClient } from "../run-as/relayed-client.ts";
import { createServerCore, type ServerCore, type ServerParts } from "./server-core.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import { numbersOf, type ServerState, type Traffic } from "../settings/server-state.ts";
import { MetricHistory, readUsage } from "../metrics/metric-history.ts";

/** Interval of checks whether anything is still running while the server drains. */
const DRAIN_CHECK_MS = 100;
/** WebSocket's close code for a server that takes no more clients for the moment. */
const TRY_AGAIN_LATER = 1013;
/** Deadline for reporting exits after the kill. */
const SHUTDOWN_DEADLINE_MS = 2_000;

export interface AcceptOptions {
  readonly resumable?: boolean;
  /**
   * The client's principal: it sees only the kept processes of this principal, and a session with a silent client is
   * handed over only to the same principal. Default: the user that runs this program.
   */
  readonly principal?: string;
  /** @deprecated Use `principal`. It will be removed in 0.3.0. */
  readonly identity?: string;
  /** The same, and what the client may do, as `createAuthenticator` finds out. Default: everything. */
  readonly credential?: Credential;
  /** Address of the client, for observers. Default: the transport's. */
  readonly from?: string;
  readonly ended?: () => void;
}

/** Serves any number of clients, over transports or in its own program. */
export interface Server {
  /** Why no further connection is accepted, or none with this credential; undefined if one is. */
  refusal(credential?: Credential): string | undefined;
  /**
   * Resolves with the reason if a connection comes from inside one of this server's sandboxes, from where it could
   * start processes outside. Undefined if no sandbox could connect.
   */
  exclude(ends: ConnectionEnds): Promise<string | undefined> | undefined;
  /** `resumable: false` ends the session with its connection. A connection that is not accepted is closed. */
  accept(transport: Transport, options?: AcceptOptions): void;
  /** Its current activity, for probes and figures. */
  state(): ServerState;
  /**
   * Admits no further connections. Resolves when no process is running, or after `drainTimeoutMs`; existing connections
   * continue until the server is closed.
   */
  drain(): Promise<void>;
  /** Kills all processes, reports their exits, and closes every connection. */
  close(): Promise<void>;
}

/** Throws a UsageError for an invalid limit, and a CapabilityError on a machine that cannot serve. */
export function createServer(options: ServerOptions = {}): Server {
  return createServerFor(new OwnListeners(), options);
}

/** The same for a server whose listeners are known, so that its processes cannot reach them. */
export function createServerFor(
  listeners: OwnListeners,
  options: ServerOptions,
  parts: ServerParts = {},
): ObservedServer {
  assertCanServe();
  return new ExecServer(options, listeners, parts);
}

/** A server, and the observer of what happens on it. */
export interface ObservedServer extends Server {
  readonly observer: ServerObserver | undefined;
  readonly audit: Audit | undefined;
  readonly cordon: Cordon;
  /** Whether something in a sandbox may be using the network of this machine. */
  readonly usesNetwork: boolean;
  /** Like `exclude`, for an accepted Unix socket. */
  excludeUnix(descriptor: number): string | undefined;
  /** `number` is the connection's, if another program has numbered it. */
  accept(transport: Transport, options?: AcceptOptions & { readonly number?: number }): void;
  /** Rejects if nothing can be done for clients as the user that the options name. */
  prepare(): Promise<void>;
}

class ExecServer implements ObservedServer {
  readonly #core: ServerCore;
  readonly #requestObservers: RequestObservers;
  readonly #refusals: RefusalLog;
  readonly #admission = new ConnectionAdmission();
  readonly #clients = new Set<ClientConnection>();
  readonly observer: ServerObserver | undefined;
  readonly audit: Audit | undefined;
  readonly cordon: Cordon;
  readonly #metrics: MetricHistory;
  #connections = 0;
  /** Of connections that have ended. */
  #pastTraffic: Traffic = { requests: 0, errors: 0, sentBytes: 0 };
  #isDraining = false;
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions, listeners: OwnListeners, parts: ServerParts) {
    this.#core = createServerCore(options, listeners, {
      parts,
      connections: () => this.#clients.size,
      state: () => this.state(),
      metrics: () => this.#metrics.values,
    });
    const { audit, cordon, observers, logger } = this.#core;
    this.audit = audit;
    this.cordon = cordon;
    this.observer = combineObservers(observers);
    this.#requestObservers = new RequestObservers(observers);
    this.#refusals = new RefusalLog(logger);
    this.#metrics = new MetricHistory(() => ({ ...this.state(), ...this.#traffic(), ...readUsage() }));
  }

  refusal(credential?: Credential): string | undefined {
    const limited = this.#limit(credential);
    if (limited !== undefined) return limited;
    return this.#admission.admits() ? undefined : "the server has no file descriptors left";
  }

  /** Why there may not be one more connection. */
  #limit(credential: Credential = this.#core.localCredential): string | undefined {
    const own = credential.rights.limits.maxConnections;
    if (own !== undefined && this.#connectionsOf(credential.principal) >= own)
      return limitError("maxConnections", own, "this token has too many connections").message;
    const { users, limits } = this.#core;
    const { maxConnections } = limits;
    if (this.#isDraining || this.#closing !== undefined) return "the server is closing";
    if (this.#clients.size + users.connections >= maxConnections)
      return limitError("maxConnections", maxConnections, "the server has too many connections").message;
    return undefined;
  }

  get usesNetwork(): boolean {
    return this.#core.sandbox.usesNetwork;
  }

  exclude(ends: ConnectionEnds): Promise<string | undefined> | undefined {
    const { users } = this.#core;
    if (!this.usesNetwork && !users.isRunning) return undefined;
    return this.#findSandboxed(ends);
  }

  async #findSandboxed(ends: ConnectionEnds): Promise<string | undefined> {
    // The search takes as long as there are processes, so a keeper is asked first.
    if (!this.usesNetwork && !(await this.#core.users.useNetwork())) return undefined;
    return (await isHeldOutside(ends, this.#core.users.known))
      ? undefined
      : this.#refuseSandboxed({ ...ends });
  }

  excludeUnix(descriptor: number): string | undefined {
    const { sandbox, users } = this.#core;
    if (!sandbox.usesNetwork && !users.isRunning) return undefined;
    try {
      const { pid } = peerProcess(descriptor);
      // A keeper may have been started by another server.
      if (pid === 0 || !isInOwnSandbox(pid, [process.pid, ...users.pids])) return undefined;
    } catch {
      // Without a free descriptor, the peer cannot be identified.
    }
    return this.#refuseSandboxed({ from: "unix" });
  }

  #refuseSandboxed(from: Readonly<Record<string, unknown>>): string {
    this.#refusals.warn("a connection from inside a sandbox was refused", from);
    return "a process in a sandbox cannot connect to the server that runs it";
  }

  #connectionsOf(principal: string): number {
    let count = this.#core.users.connectionsOf(principal);
    for (const client of this.#clients) if (client.principal === principal) count += 1;
    return count;
  }

  accept(
    transport: Transport,
    {
      resumable = true,
      identity,
      principal = identity,
      credential: presented,
      from,
      number,
      ended,
    }: AcceptOptions & { readonly number?: number } = {},
  ): void {
    if (identity !== undefined) warnDeprecated("AcceptOptions.identity", "principal", "0.3.0");
    const local = this.#core.localCredential;
    const credential = presented ?? (principal === undefined ? local : { ...local, principal });
    // Its descriptor, if it has one, is already taken.
    const refused = this.#limit(credential);
    const address = (): string => from ?? transport.from ?? "unknown";
    if (refused === undefined) {
      const client = { resumable, credential, address, number: number ?? this.#nextNumber(), ended };
      const other = this.#otherUser(credential);
      if (other === undefined && !this.#core.isDurable) this.#serve(transport, client);
      else this.#core.users.accept(transport, other?.account, client);
      return;
    }
    this.observer?.refused?.({ cause: "limit", reason: refused, from: address() });
    this.#core.logger.warn("a connection was refused", { reason: refused });
    transport.close({ code: TRY_AGAIN_LATER, reason: refused });
    ended?.();
  }

  state(): ServerState {
    const { users, sessions, starter, shared, limits } = this.#core;
    const elsewhere = users.state();
    return {
      connections: this.#clients.size + users.connections,
      sessions: sessions.size + elsewhere.sessions,
      runningProcesses: starter.running + elsewhere.runningProcesses,
      bufferedBytes: shared.budget.used + elsewhere.bufferedBytes,
      isDraining: this.#isDraining || this.#closing !== undefined,
      isCordoned: this.cordon.isCordoned,
      limits: numbersOf(limits),
    };
  }

  async prepare(): Promise<void> {
    const { users, runAs, localCredential } = this.#core;
    const local = this.#otherUser(localCredential);
    if (this.#core.isDurable) await users.prepare();
    this.#connections = Math.max(this.#connections, users.lastConnection);
    if (runAs !== undefined && !runAs.isOwn) await users.prepare(runAs.account);
    if (local !== undefined) await users.prepare(local.account);
  }

  async drain(): Promise<void> {
    const { users, starter, limits } = this.#core;
    this.#isDraining = true;
    const deadline = performance.now() + limits.drainTimeoutMs;
    const drained = users.drain(limits.drainTimeoutMs);
    while (starter.running > 0 && performance.now() < deadline && this.#closing === undefined)
      await delay(DRAIN_CHECK_MS);
    await drained;
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  /** Undefined if everything for a client happens as the user of this program. */
  #otherUser({ rights }: Credential): RunAs | undefined {
    const runAs = rights.runAs ?? this.#core.runAs;
    return runAs === undefined || runAs.isOwn ? undefined : runAs;
  }

  #nextNumber(): number {
    this.#connections += 1;
    return this.#connections;
  }

  #serve(transport: Transport, { resumable, credential, address, number, ended }: AdmittedClient): void {
    const leave = this.#core.occupancy.enter();
    const observed =
      this.observer &&
      new ConnectionObservation(this.observer, this.#requestObservers, {
        number,
        from: address(),
        principal: credential.principal,
        tokenName: credential.name,
      });
    const client = new ClientConnection(transport, {
      ...this.#core.shared,
      resumable,
      credential,
      observed,
      ended: () => {
        this.#clients.delete(client);
        this.#pastTraffic = added(this.#pastTraffic, client.traffic);
        leave();
        ended?.();
      },
    });
    this.#clients.add(client);
    client.open();
  }

  #traffic(): Traffic {
    let total = this.#pastTraffic;
    for (const { traffic } of this.#clients) total = added(total, traffic);
    return total;
  }

  async #end(): Promise<void> {
    this.#metrics.close();
    const { users, starter, sessions, kept, limits } = this.#core;
    const closed = users.close(limits.shutdownGraceMs);
    if (limits.shutdownGraceMs > 0) await starter.terminateAll(limits.shutdownGraceMs);
    // Failed work is done too; the next step kills whatever is left.
    await settledWithin(sessions.endAll(kept.end()), SHUTDOWN_DEADLINE_MS);
    starter.killAll();
    await settledWithin(starter.swept(), SHUTDOWN_DEADLINE_MS);
    for (const client of this.#clients) client.close();
    await closed;
    await this.audit?.close();
  }
}

function added(one: Traffic, other: Traffic): Traffic {
  return {
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    sentBytes: one.sentBytes + other.sentBytes,
  };
}
