import { createDeferred } from "../../base/deferred.ts";
import { Fifo } from "../../base/fifo.ts";
import { settledWithin } from "../../base/deadlines.ts";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ControlGroups } from "../../capabilities/process/ending/control-groups.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { NumberedAccount } from "../../native/account.ts";
import type { Transport } from "../../transport/transport.ts";
import { toWire } from "../../rpc/error-wire.ts";
import type { Credential } from "../access/credential.ts";
import type { Audit } from "../audit/audit.ts";
import type { AuditOptions } from "../settings/server-options.ts";
import type { RequestObservers } from "../wire/request-observers.ts";
import type { ServerLimits } from "../settings/limits.ts";
import type { ServerObserver } from "../settings/observer.ts";
import { lastRecords } from "../audit/last-records.ts";
import type { DurableDirectory } from "../durable/durable-directory.ts";
import { requireBundle } from "../wire/own-bundle.ts";
import { ReportRelay } from "./report-relay.ts";
import { StallWatch } from "./stall-watch.ts";
import type {
  FromUserServer,
  FrontMethod,
  KeeperSettings,
  RelayedConnection,
  SharedOptions,
  UserSettings,
  UserState,
} from "./messages.ts";
import { type AdmittedClient, RelayedClient } from "./relayed-client.ts";
import { createUserControlGroup } from "./user-control-group.ts";
import { UserLink } from "./user-link.ts";
import { findKeeper, startChild, type UserProgram } from "./user-program.ts";

const PROGRAM = "user-server.js";
const RESTARTS = "the server restarts";
/** No user has this number. */
export const OWN_USER = -1;
/** How long an idle user's server stays. */
const IDLE_MS = 60_000;
/** Time from the start to the first sign of life. */
const START_TIMEOUT_MS = 30_000;
/** Time for its end, in addition to that of its processes. */
const END_TIMEOUT_MS = 5_000;
/** Time for its answer to a question. */
const ANSWER_MS = 1_000;
/** Time for messages it sent before it ended. */
const LAST_WORDS_MS = 1_000;
/** WebSocket's code for a server that is back soon. */
const SERVICE_RESTART = 1012;

/** Shared by all users' servers. */
export interface UserServerSurroundings {
  /** Options of the server itself. */
  readonly shared: SharedOptions & { readonly limits: ServerLimits };
  readonly files: ServerFiles;
  readonly audit: Audit | undefined;
  readonly onFailure: AuditOptions["onFailure"];
  readonly logger: Logger;
  /** The groups that users' servers run in. */
  readonly controlGroups: ControlGroups;
  readonly ports: () => readonly number[];
  /** Answers what a keeper cannot. Undefined for links, if there is no console. */
  readonly front: FrontHandlers;
  /** What serves clients as this program's own user and outlives this program. Undefined if this one serves them. */
  readonly durable: Durable | undefined;
}

type FrontHandlers = Readonly<
  Record<FrontMethod, ((credential: Credential, params: unknown) => unknown) | undefined>
>;

export interface Durable {
  readonly directory: DurableDirectory;
  /** What processes may inherit. */
  readonly environment: Environment;
}

export interface UserServerOptions extends UserServerSurroundings {
  /** Observes what happens, as the audit log does. */
  readonly observer: ServerObserver | undefined;
  /** Observers of requests. */
  readonly requests: RequestObservers;
  /** A client of it has said whether the whole server is to get no new work. */
  cordon(isCordoned: boolean): void;
  /** It has been idle for some time. */
  idle(): void;
  /** It no longer serves anyone. May be called twice. */
  failed(): void;
  /** It has ended completely. */
  ended(): void;
}

/** The server of one user, in its own program. */
export class UserServer {
  readonly uid: number;
  /** Rejects with a CapabilityError if it cannot serve. */
  readonly ready: Promise<void>;
  readonly #account: NumberedAccount | undefined;
  readonly #durable: Durable | undefined;
  readonly #options: UserServerOptions;
  /** Resolves when its program was started, and rejects if that is not possible. */
  readonly #starting: Promise<void>;
  #program: UserProgram | undefined;
  #link: UserLink | undefined;
  readonly #clients = new Map<number, RelayedClient>();
  readonly #reports: ReportRelay;
  readonly #ready = createDeferred<void>();
  readonly #exited = createDeferred<void>();
  readonly #drained = createDeferred<void>();
  readonly #timer: NodeJS.Timeout;
  /** Ends its control group, if it has one. */
  #endGroup: (() => Promise<void>) | undefined;
  /** Why it cannot serve. */
  #fault: string | undefined;
  #isAuditFailing = false;
  #isCordoned = false;
  /** Set once it is ready. */
  #stallWatch: StallWatch | undefined;
  /** Get the answers to pings, in their order. */
  readonly #asked = new Fifo<(usesNetwork: boolean) => void>();
  #isClosing = false;
  #hasEnded = false;
  #lastConnection = 0;

  /** Without an account it is the keeper. Throws a CapabilityError if its program is missing. */
  constructor(account: NumberedAccount | undefined, options: UserServerOptions) {
    this.uid = account?.uid ?? OWN_USER;
    this.#account = account;
    this.#options = options;
    this.#durable = account === undefined ? options.durable : undefined;
    this.#reports = new ReportRelay(
      account?.name,
      options,
      (number) => this.#clients.get(number)?.observed,
      this.#durable && ((record) => this.#link?.send({ kind: "recorded", record })),
    );
    this.ready = this.#ready.promise;
    // Clients learn of it when they connect.
    this.ready.catch(() => {});
    const program = requireBundle(PROGRAM, "nothing can be run as another user");
    this.#timer = setTimeout(() => this.#fail("it did not start in time"), START_TIMEOUT_MS);
    this.#starting = this.#start(program);
    this.#starting.catch((error: unknown) => {
      this.#fail(messageOf(error));
      // Nothing was started, so nothing will end.
      if (this.#program === undefined) void this.#close("");
    });
  }

  get connections(): number {
    return this.#clients.size;
  }

  /** The highest number of a connection that it has served, once it is ready. */
  get lastConnection(): number {
    return this.#lastConnection;
  }

  /** Undefined before it runs. */
  get pid(): number | undefined {
    return this.#program?.pid;
  }

  get state(): UserState {
    return this.#reports.state;
  }

  connectionsOf(principal: string): number {
    let count = 0;
    for (const { observed } of this.#clients.values()) if (observed.principal === principal) count += 1;
    return count;
  }

  /**
   * Whether something in its sandboxes may be using the network of this machine. That of a user may say anything, so it
   * is not asked.
   */
  async usesNetwork(): Promise<boolean> {
    if (this.#durable === undefined) return true;
    const answered = createDeferred<boolean>();
    this.#ask((usesNetwork) => answered.resolve(usesNetwork));
    await settledWithin(Promise.race([answered.promise, this.#exited.promise]), ANSWER_MS);
    answered.resolve(true);
    return answered.promise;
  }

  #ask(answered: (usesNetwork: boolean) => void): void {
    if (this.#link === undefined) return answered(true);
    this.#asked.push(answered);
    this.#link.send({ kind: "ping" });
  }

  accept(transport: Transport, client: AdmittedClient): void {
    const relayed = new RelayedClient(transport, {
      client,
      observer: this.#options.observer,
      maxMessageBytes: this.#options.shared.limits.maxMessageBytes,
      ended: () => this.#clients.delete(client.number),
    });
    this.#clients.set(client.number, relayed);
    const { number, resumable, credential } = client;
    const connection: RelayedConnection = {
      number,
      resumable,
      principal: credential.principal,
      tokenName: credential.name,
      rights: credential.rights.options,
      from: client.address(),
      source: transport.source,
      canPing: transport.ping !== undefined,
      ports: this.#options.ports(),
    };
    void this.#starting.then(
      () => relayed.open(() => this.#link!.connect(connection)),
      () => {}, // Its clients learn it then, too.
    );
  }

  /** Reports whether requests that would have to be recorded must be refused. */
  reportAudit(isFailing: boolean): void {
    if (isFailing === this.#isAuditFailing) return;
    this.#isAuditFailing = isFailing;
    this.#link?.send({ kind: "auditFailing", isFailing });
  }

  /** Reports whether the whole server is to get no new work. */
  reportCordon(isCordoned: boolean): void {
    this.#isCordoned = isCordoned;
    this.#link?.send({ kind: "cordon", isCordoned });
  }

  /** Resolves when nothing runs in it, or after that time. What a keeper runs goes on. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.#durable !== undefined) return;
    this.#link?.send({ kind: "drain" });
    await settledWithin(Promise.race([this.#drained.promise, this.#exited.promise]), timeoutMs);
  }

  /** Resolves when nothing of it is left, or when this program has left a keeper. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#starting.catch(() => {});
    if (this.#durable !== undefined) {
      for (const client of this.#clients.values()) client.leave({ code: SERVICE_RESTART, reason: RESTARTS });
      this.#link?.close();
      return this.gone();
    }
    this.#link?.send({ kind: "close" });
    this.#signal("SIGCONT");
    await settledWithin(this.#exited.promise, graceMs + END_TIMEOUT_MS);
    this.#kill();
    await this.gone();
  }

  /** Resolves when nothing is left of one that was killed, or after some time. */
  async gone(): Promise<void> {
    await settledWithin(this.#exited.promise, END_TIMEOUT_MS);
  }

  /** Without the right to signal it, disconnecting ends it. A keeper lives on, whatever it does. */
  #kill(): void {
    if (this.#durable === undefined) this.#signal("SIGKILL");
    this.#link?.close();
  }

  #signal(signal: "SIGCONT" | "SIGKILL"): void {
    if (!this.#hasEnded) this.#program?.kill(signal);
  }

  async #start(file: string): Promise<void> {
    const { audit, controlGroups: groups, logger } = this.#options;
    const keeper = this.#durable && {
      journal: this.#durable.directory.journal,
      spool: this.#durable.directory.spool,
      environment: { ...this.#durable.environment },
      recorded: audit?.file === undefined ? {} : await lastRecords(audit.file),
    };
    const program = await (this.#durable === undefined
      ? startChild(file)
      : findKeeper(this.#durable.directory, file));
    this.#program = program;
    // Before it starts anything.
    if (this.#account !== undefined)
      this.#endGroup = createUserControlGroup(program.pid, this.#account, { groups, logger });
    const link = new UserLink(program.address, {
      message: (message) => this.#take(message),
      failed: (reason) => this.#fail(reason),
    });
    this.#link = link;
    const ended = program.ended ?? link.ended.then(() => "it has ended, and what it ran is lost");
    void ended.then((how) => {
      this.#hasEnded = true;
      return this.#close(how);
    });
    // It may have been stopped before.
    if (!program.isNew) this.#signal("SIGCONT");
    link.send({ kind: "settings", settings: this.#settings(keeper) });
    if (this.#isAuditFailing) link.send({ kind: "auditFailing", isFailing: true });
    if (this.#isCordoned) link.send({ kind: "cordon", isCordoned: true });
  }

  #settings(keeper: KeeperSettings | undefined): UserSettings {
    const { shared, files, audit, onFailure, observer, front } = this.#options;
    const { limits, sandbox, requireSandbox, keepProcesses, concurrentRequests, version, program } = shared;
    // Another user could not read them.
    const secrets = this.#account === undefined ? shared.secrets : undefined;
    const options = {
      limits,
      sandbox,
      requireSandbox,
      secrets,
      keepProcesses,
      concurrentRequests,
      version,
      program,
    };
    return {
      account: this.#account,
      keeper,
      options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
      files,
      cwd: process.cwd(),
      audit: audit && (onFailure === undefined ? {} : { onFailure }),
      isObserved: observer !== undefined,
      hasConsole: front["console/link"] !== undefined,
      idleMs: IDLE_MS,
    };
  }

  /** Any program of the user can stop it. */
  #watchStalls(): StallWatch {
    return new StallWatch({
      ask: () => this.#ask(() => {}),
      revive: () => this.#signal("SIGCONT"),
      lost: () => this.#fail("its server does not answer; a program of that user may have stopped it"),
    });
  }

  #take(message: FromUserServer): void {
    this.#stallWatch?.heard();
    switch (message.kind) {
      case "ready":
        this.#lastConnection = message.connections;
        clearTimeout(this.#timer);
        this.#stallWatch = this.#watchStalls();
        this.#ready.resolve();
        break;
      case "pong":
        this.#asked.shift()?.(message.usesNetwork);
        break;
      case "fault":
        this.#fail(message.message);
        break;
      case "reports":
        for (const report of message.reports) this.#reports.take(report);
        break;
      case "idle":
        this.#options.idle();
        break;
      case "cordon":
        this.#options.cordon(message.isCordoned);
        break;
      case "ask":
        void this.#answer(message);
        break;
      case "drained":
        this.#drained.resolve();
        break;
      case "status":
    }
  }

  /** Only a keeper may ask: the program of a user could ask for more than its clients have a right to. */
  async #answer({ id, connection, method, params }: Extract<FromUserServer, { kind: "ask" }>): Promise<void> {
    const client = this.#clients.get(connection);
    if (this.#durable === undefined || client === undefined) return;
    try {
      const result = await this.#options.front[method]?.(client.credential, params);
      this.#link?.send({ kind: "answer", id, result });
    } catch (error) {
      const wireError = toWire(error);
      // Any other is a fault of this program.
      if (wireError === undefined) throw error;
      this.#link?.send({ kind: "answer", id, error: wireError });
    }
  }

  #fail(reason: string): void {
    this.#fault ??= reason;
    this.#abandon(reason);
    this.#kill();
  }

  /** Fails everything that waits for it. The next client of the user gets another one. */
  #abandon(reason: string): void {
    clearTimeout(this.#timer);
    this.#stallWatch?.close();
    const error = new CapabilityError(
      "OS_ERROR",
      this.#account === undefined
        ? `cannot use the keeper: ${reason}`
        : `cannot run anything as ${this.#account.name}: ${reason}`,
    );
    this.#ready.reject(error);
    for (const client of this.#clients.values()) client.lost(error.message, this.#options.audit);
    this.#options.failed();
  }

  async #close(how: string): Promise<void> {
    // Why it ended may be the last that it sent.
    if (this.#link !== undefined) await settledWithin(this.#link.ended, LAST_WORDS_MS);
    this.#link?.close();
    const reason = this.#fault ?? how;
    if (!this.#isClosing)
      this.#options.logger.error(
        this.#account === undefined ? "the keeper is gone" : "the server of a user has ended",
        { user: this.#account?.name, reason },
      );
    this.#abandon(reason);
    this.#reports.lost();
    this.#options.ended();
    await this.#endGroup?.();
    this.#exited.resolve();
  }
}
