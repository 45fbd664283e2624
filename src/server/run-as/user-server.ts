import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { createDeferred } from "../../base/deferred.ts";
import { settledWithin } from "../../base/deadlines.ts";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ControlGroups } from "../../capabilities/process/ending/control-groups.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { NumberedAccount } from "../../native/account.ts";
import { openSocketPair } from "../../native/descriptor-passing.ts";
import { withholdInheritedDescriptors } from "../../native/spawn.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Audit } from "../audit/audit.ts";
import type { AuditOptions } from "../settings/server-options.ts";
import type { RequestObservers } from "../wire/request-observers.ts";
import type { ServerLimits } from "../settings/limits.ts";
import type { ServerObserver } from "../settings/observer.ts";
import { requireBundle } from "../wire/own-bundle.ts";
import { ReportRelay } from "./report-relay.ts";
import { StallWatch } from "./stall-watch.ts";
import type { FromUserServer, SharedOptions, UserSettings, UserState } from "./messages.ts";
import { type AdmittedClient, RelayedClient } from "./relayed-client.ts";
import { UserChannel } from "./user-channel.ts";
import { createUserControlGroup } from "./user-control-group.ts";

const PROGRAM = "user-server.js";
/** How long an idle user's server stays. */
const IDLE_MS = 60_000;
/** Time from the start to the first sign of life. */
const START_TIMEOUT_MS = 30_000;
/** Time for its end, in addition to that of its processes. */
const END_TIMEOUT_MS = 5_000;
/** Time for messages it sent before it ended. */
const LAST_WORDS_MS = 1_000;
const MAX_STDERR_CHARACTERS = 2_000;

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
  readonly #account: NumberedAccount;
  readonly #options: UserServerOptions;
  readonly #child: ChildProcess;
  readonly #channel: UserChannel;
  readonly #clients = new Map<number, RelayedClient>();
  readonly #reports: ReportRelay;
  readonly #ready = createDeferred<void>();
  readonly #exited = createDeferred<void>();
  readonly #drained = createDeferred<void>();
  readonly #timer: NodeJS.Timeout;
  /** Ends its control group, if it has one. */
  readonly #endGroup: (() => Promise<void>) | undefined;
  #stderr = "";
  /** Why it cannot serve. */
  #fault: string | undefined;
  #isAuditFailing = false;
  /** Set once it is ready. */
  #stallWatch: StallWatch | undefined;
  #isClosing = false;

  /** Throws a CapabilityError if it cannot be started. */
  constructor(account: NumberedAccount, options: UserServerOptions) {
    this.uid = account.uid;
    this.#account = account;
    this.#options = options;
    this.#reports = new ReportRelay(account.name, options, (number) => this.#clients.get(number)?.observed);
    this.ready = this.#ready.promise;
    // Clients learn of it when they connect.
    this.ready.catch(() => {});
    const program = requireBundle(PROGRAM, "nothing can be run as another user");
    this.#channel = new UserChannel({
      message: (message) => this.#take(message),
      failed: (reason) => this.#fail(reason),
    });
    this.#child = this.#channel.start((descriptors) => start(program, descriptors));
    this.#listen(this.#child);
    const { pid } = this.#child;
    // Before it starts anything.
    const { controlGroups: groups, logger } = options;
    this.#endGroup = pid === undefined ? undefined : createUserControlGroup(pid, account, { groups, logger });
    this.#timer = setTimeout(() => this.#fail("it did not start in time"), START_TIMEOUT_MS);
    this.#channel.send({ kind: "settings", settings: this.#settings() });
  }

  get connections(): number {
    return this.#clients.size;
  }

  get state(): UserState {
    return this.#reports.state;
  }

  connectionsOf(principal: string): number {
    let count = 0;
    for (const { observed } of this.#clients.values()) if (observed.principal === principal) count += 1;
    return count;
  }

  /** Throws a CapabilityError without free descriptors. */
  accept(transport: Transport, client: AdmittedClient): void {
    const { own, childs } = openSocketPair();
    const relayed = new RelayedClient(transport, new Socket({ fd: own }), {
      client,
      observer: this.#options.observer,
      maxMessageBytes: this.#options.shared.limits.maxMessageBytes,
      ended: () => this.#clients.delete(client.number),
    });
    this.#clients.set(client.number, relayed);
    const { number, resumable, credential } = client;
    this.#channel.sendSocket(
      {
        kind: "connect",
        connection: {
          number,
          resumable,
          principal: credential.principal,
          tokenName: credential.name,
          rights: credential.rights.options,
          from: client.address(),
          source: transport.source,
          canPing: transport.ping !== undefined,
          ports: this.#options.ports(),
        },
      },
      childs,
    );
    relayed.open();
  }

  /** Reports whether requests that would have to be recorded must be refused. */
  reportAudit(isFailing: boolean): void {
    if (isFailing === this.#isAuditFailing) return;
    this.#isAuditFailing = isFailing;
    this.#channel.send({ kind: "auditFailing", isFailing });
  }

  /** Reports whether the whole server is to get no new work. */
  reportCordon(isCordoned: boolean): void {
    this.#channel.send({ kind: "cordon", isCordoned });
  }

  /** Resolves when nothing runs in it, or after that time. */
  async drain(timeoutMs: number): Promise<void> {
    this.#channel.send({ kind: "drain" });
    await settledWithin(Promise.race([this.#drained.promise, this.#exited.promise]), timeoutMs);
  }

  /** Resolves when nothing of it is left. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#channel.send({ kind: "close" });
    this.#child.kill("SIGCONT");
    await settledWithin(this.#exited.promise, graceMs + END_TIMEOUT_MS);
    this.#kill();
    await this.gone();
  }

  /** Resolves when nothing is left of one that was killed, or after some time. */
  async gone(): Promise<void> {
    await settledWithin(this.#exited.promise, END_TIMEOUT_MS);
  }

  /** Without the right to signal it, disconnecting ends it. */
  #kill(): void {
    this.#child.kill("SIGKILL");
    this.#channel.close();
  }

  #settings(): UserSettings {
    const { shared, files, audit, onFailure, observer } = this.#options;
    const { limits, sandbox, requireSandbox, keepProcesses, concurrentRequests, version, program } = shared;
    const options = { limits, sandbox, requireSandbox, keepProcesses, concurrentRequests, version, program };
    return {
      account: this.#account,
      options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
      files,
      cwd: process.cwd(),
      audit: audit && (onFailure === undefined ? {} : { onFailure }),
      isObserved: observer !== undefined,
      idleMs: IDLE_MS,
    };
  }

  #listen(child: ChildProcess): void {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARACTERS);
    });
    child.on("error", (error) => {
      this.#fail(messageOf(error));
      // Nothing was started, so nothing will end.
      if (child.pid === undefined) void this.#close("");
    });
    child.on("close", (code, signal) => void this.#close(`it ended with ${signal ?? `code ${code}`}`));
  }

  /** Any program of the user can stop it. */
  #watchStalls(): StallWatch {
    return new StallWatch({
      ask: () => this.#channel.send({ kind: "ping" }),
      revive: () => this.#child.kill("SIGCONT"),
      lost: () => this.#fail("its server does not answer; a program of that user may have stopped it"),
    });
  }

  #take(message: Exclude<FromUserServer, { kind: "taken" }>): void {
    this.#stallWatch?.heard();
    switch (message.kind) {
      case "ready":
        clearTimeout(this.#timer);
        this.#stallWatch = this.#watchStalls();
        this.#ready.resolve();
        break;
      case "pong":
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
      case "drained":
        this.#drained.resolve();
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
    const error = new CapabilityError("OS_ERROR", `cannot run anything as ${this.#account.name}: ${reason}`);
    this.#ready.reject(error);
    for (const client of this.#clients.values()) client.lost(error.message, this.#options.audit);
    this.#options.failed();
  }

  async #close(how: string): Promise<void> {
    // Why it ended may be the last that it sent.
    await settledWithin(this.#channel.ended, LAST_WORDS_MS);
    this.#channel.close();
    const said = this.#stderr.trim();
    const reason = this.#fault ?? `${how}${said === "" ? "" : `: ${said}`}`;
    if (!this.#isClosing)
      this.#options.logger.error("the server of a user has ended", { user: this.#account.name, reason });
    this.#abandon(reason);
    this.#reports.lost();
    this.#options.ended();
    await this.#endGroup?.();
    this.#exited.resolve();
  }
}

/** It begins as the user of this program, without any of its open descriptors and settings. */
function start(program: string, descriptors: readonly [number, number]): ChildProcess {
  withholdInheritedDescriptors();
  return spawn(process.execPath, [program], {
    cwd: "/",
    env: {},
    // A new session, out of reach of terminal signals.
    detached: true,
    stdio: ["ignore", "ignore", "pipe", ...descriptors],
  });
}
