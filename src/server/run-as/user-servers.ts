import { CapabilityError, messageOf } from "../../base/errors.ts";
import { findAccount, type NumberedAccount } from "../../native/account.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Cordon } from "../settings/cordon.ts";
import { RequestObservers } from "../wire/request-observers.ts";
import { methods } from "../../protocol/index.ts";
import { combineObservers, type ServerObserver } from "../settings/observer.ts";
import type { UserState } from "./messages.ts";
import { type AdmittedClient, SERVER_FAILED } from "./relayed-client.ts";
import { OWN_USER, UserServer, type UserServerSurroundings } from "./user-server.ts";

/** Each takes about 60 MB. */
const MAX_USERS = 64;
/** How often users' servers learn whether the audit log can be written. */
const AUDIT_CHECK_MS = 100;

export interface UserServersOptions extends UserServerSurroundings {
  /** Observers besides the audit log. */
  readonly observers: readonly ServerObserver[];
  /** Is shared with the servers of users. */
  readonly cordon: Cordon;
  /** The server is busy until the returned function is called. */
  readonly enter: () => () => void;
}

/**
 * Serves clients as other users. Each user has its own server in a program that runs as that user only, so that the
 * system itself decides what it can do. This program only forwards messages.
 */
export class UserServers {
  readonly #options: UserServersOptions;
  readonly #observer: ServerObserver | undefined;
  #knownRequests: RequestObservers | undefined;
  readonly #servers = new Map<number, UserServer>();
  /** The user of this program, and everyone who has had a server. */
  readonly #known = new Set([process.geteuid?.()]);
  /** Servers that are ending. */
  readonly #ending = new Set<Promise<void>>();
  #auditTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: UserServersOptions) {
    this.#options = options;
    this.#observer = combineObservers(options.observers);
    const { cordon } = options;
    cordon.watch(() => {
      for (const server of this.#servers.values()) server.reportCordon(cordon.isCordoned);
    });
  }

  get connections(): number {
    return this.#sum((server) => server.connections);
  }

  get isRunning(): boolean {
    return this.#servers.size > 0 || this.#ending.size > 0;
  }

  /** Whether something in their sandboxes may be using the network of this machine. */
  async useNetwork(): Promise<boolean> {
    if (this.#ending.size > 0) return true;
    return (await Promise.all(Array.from(this.#servers.values(), (server) => server.usesNetwork()))).includes(
      true,
    );
  }

  connectionsOf(principal: string): number {
    return this.#sum((server) => server.connectionsOf(principal));
  }

  /** State as last reported, a moment ago. */
  state(): UserState {
    return {
      sessions: this.#sum(({ state }) => state.sessions),
      runningProcesses: this.#sum(({ state }) => state.runningProcesses),
      bufferedBytes: this.#sum(({ state }) => state.bufferedBytes),
    };
  }

  /** Resolves when something can be done as that user; without one, by the keeper. */
  async prepare(account?: NumberedAccount): Promise<void> {
    await this.#serverOf(account).ready;
  }

  /** The highest number of a connection that another server has used before this one. */
  get lastConnection(): number {
    return this.#servers.get(OWN_USER)?.lastConnection ?? 0;
  }

  /** The programs of users' servers. */
  get pids(): readonly number[] {
    return Array.from(this.#servers.values()).flatMap(({ pid }) => pid ?? []);
  }

  /** The users whose processes may have been started here: what an ended server ran can take a moment to end. */
  get known(): ReadonlySet<number | undefined> {
    return this.#known;
  }

  /** Serves a client as that user; without one, by the keeper. It is sent away if that is not possible. */
  accept(transport: Transport, account: NumberedAccount | undefined, client: AdmittedClient): void {
    try {
      this.#serverOf(account).accept(transport, client);
    } catch (error) {
      this.#options.logger.error("a connection cannot be served", {
        user: account?.name,
        reason: messageOf(error),
      });
      transport.close({ code: SERVER_FAILED, reason: messageOf(error) });
      client.ended?.();
    }
  }

  async drain(timeoutMs: number): Promise<void> {
    await Promise.all(Array.from(this.#servers.values(), (server) => server.drain(timeoutMs)));
  }

  /** Ends them, with everything that they run. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#auditTimer);
    for (const server of this.#servers.values()) this.#end(server, graceMs);
    await Promise.all(this.#ending);
  }

  #serverOf(account: NumberedAccount | undefined): UserServer {
    const current = account && currentAccount(account);
    const known = this.#servers.get(current?.uid ?? OWN_USER);
    if (known !== undefined) return known;
    if (this.#isClosed) throw new CapabilityError("OS_ERROR", "the server is closing");
    if (this.#servers.size >= MAX_USERS)
      throw new CapabilityError("LIMIT_REACHED", `clients already run as ${MAX_USERS} users`);
    if (Object.keys(methods).some((method) => this.#requests.of(method).hooks?.veto !== undefined))
      throw new CapabilityError("UNSUPPORTED", "an observer with a veto cannot be asked for another user");
    const server = this.#start(current);
    this.#servers.set(server.uid, server);
    this.#known.add(server.uid);
    return server;
  }

  get #requests(): RequestObservers {
    this.#knownRequests ??= new RequestObservers(this.#options.observers);
    return this.#knownRequests;
  }

  #start(account: NumberedAccount | undefined): UserServer {
    const { shared, audit, enter, cordon } = this.#options;
    const leave = enter();
    const server = new UserServer(account, {
      ...this.#options,
      observer: this.#observer,
      requests: this.#requests,
      cordon: (isCordoned) => cordon.set(isCordoned),
      idle: () => {
        if (server.connections === 0) this.#end(server, shared.limits.shutdownGraceMs);
      },
      failed: () => this.#retire(server, server.gone()),
      ended: leave,
    });
    if (cordon.isCordoned) server.reportCordon(true);
    if (audit !== undefined) {
      this.#auditTimer ??= setInterval(() => {
        for (const each of this.#servers.values()) each.reportAudit(audit.isFailing);
      }, AUDIT_CHECK_MS).unref();
      server.reportAudit(audit.isFailing);
    }
    return server;
  }

  #end(server: UserServer, graceMs: number): void {
    this.#retire(server, server.close(graceMs));
  }

  /** From now on, new connections of the user get another server. */
  #retire(server: UserServer, ending: Promise<void>): void {
    if (this.#servers.get(server.uid) === server) this.#servers.delete(server.uid);
    const ended = ending.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #sum(count: (server: UserServer) => number): number {
    let sum = 0;
    for (const server of this.#servers.values()) sum += count(server);
    return sum;
  }
}

/** The list of users may have changed since the rights were read, and a server may outlive its user. */
function currentAccount({ name, uid }: NumberedAccount): NumberedAccount {
  const current = findAccount(name);
  if (current?.uid === uid) return current;
  throw new CapabilityError("NOT_FOUND", `the user ${name} is gone or has a different user ID now`);
}
