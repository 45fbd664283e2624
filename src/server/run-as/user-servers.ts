import { CapabilityError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ControlGroups } from "../../capabilities/process/ending/control-groups.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import { findAccount, type NumberedAccount } from "../../native/account.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Audit } from "../audit/audit.ts";
import type { AuditOptions } from "../settings/server-options.ts";
import type { Cordon } from "../settings/cordon.ts";
import { RequestObservers } from "../wire/request-observers.ts";
import { methods } from "../../protocol/index.ts";
import { combineObservers, type ServerObserver } from "../settings/observer.ts";
import type { ServerLimits } from "../settings/limits.ts";
import type { SharedOptions, UserState } from "./messages.ts";
import type { RunAs } from "../access/run-as.ts";
import type { AdmittedClient } from "./relayed-client.ts";
import { UserServer } from "./user-server.ts";

/** Each takes about 60 MB. */
const MAX_USERS = 64;
/** How often the servers of users learn whether the audit log can be written. */
const AUDIT_CHECK_MS = 100;
/** WebSocket's code for an error of the server. */
const SERVER_FAILED = 1011;

export interface UserServersOptions {
  /** Options of the server itself. */
  readonly shared: SharedOptions & { readonly limits: ServerLimits };
  readonly files: ServerFiles;
  readonly audit: Audit | undefined;
  readonly onFailure: AuditOptions["onFailure"];
  /** Besides the audit log. */
  readonly observers: readonly ServerObserver[];
  readonly logger: Logger;
  /** For those that the servers of users run in. */
  readonly controlGroups: ControlGroups;
  readonly ports: () => readonly number[];
  /** Is shared with the servers of users. */
  readonly cordon: Cordon;
  /** The server is busy until the returned function is called. */
  readonly enter: () => () => void;
}

/**
 * Serves clients as other users. Each user has a server of its own in a program of its own, which is that user and
 * nobody else, so that the system itself decides what it can do. This program only passes messages on.
 */
export class UserServers {
  readonly #options: UserServersOptions;
  readonly #observer: ServerObserver | undefined;
  #knownRequests: RequestObservers | undefined;
  readonly #servers = new Map<number, UserServer>();
  /** Those that end. */
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

  connectionsOf(principal: string): number {
    return this.#sum((server) => server.connectionsOf(principal));
  }

  /** As they last reported, a moment ago. */
  state(): UserState {
    return {
      sessions: this.#sum(({ state }) => state.sessions),
      runningProcesses: this.#sum(({ state }) => state.runningProcesses),
      bufferedBytes: this.#sum(({ state }) => state.bufferedBytes),
    };
  }

  /** Resolves when something can be done as that user. */
  async prepare(account: NumberedAccount): Promise<void> {
    await this.#serverOf(account).ready;
  }

  /** Serves a client as that user. It is sent away if that is not possible. */
  accept(transport: Transport, { account }: RunAs, client: AdmittedClient): void {
    try {
      this.#serverOf(account).accept(transport, client);
    } catch (error) {
      this.#options.logger.error("a connection cannot be served", {
        user: account.name,
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

  #serverOf(account: NumberedAccount): UserServer {
    const known = this.#servers.get(account.uid);
    if (known !== undefined) return known;
    if (this.#isClosed) throw new CapabilityError("OS_ERROR", "the server is closing");
    if (this.#servers.size >= MAX_USERS)
      throw new CapabilityError("LIMIT_REACHED", `clients run as ${MAX_USERS} users already`);
    if (Object.keys(methods).some((method) => this.#requests.of(method).hooks?.veto !== undefined))
      throw new CapabilityError("UNSUPPORTED", "an observer with a veto cannot be asked for another user");
    // The list of users may have changed since.
    if (findAccount(account.name)?.uid !== account.uid)
      throw new CapabilityError("NOT_FOUND", `the user ${account.name} has gone or has another number now`);
    const server = this.#start(account);
    this.#servers.set(account.uid, server);
    return server;
  }

  get #requests(): RequestObservers {
    this.#knownRequests ??= new RequestObservers(this.#options.observers);
    return this.#knownRequests;
  }

  #start(account: NumberedAccount): UserServer {
    const { shared, files, audit, onFailure, logger, controlGroups, ports, enter, cordon } = this.#options;
    const leave = enter();
    const server = new UserServer(account, {
      shared,
      files,
      audit: audit && { log: audit, onFailure },
      observer: this.#observer,
      requests: this.#requests,
      logger,
      controlGroups,
      ports,
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

  /** From now on, new connections of the user get another one. */
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
