import { accessSync, constants } from "node:fs";
import type { Socket } from "node:net";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import type { Spool } from "../../capabilities/process/output/spool/spool.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { NumberedAccount } from "../../native/account.ts";
import { becomeUser, endWithParent } from "../../native/user-switch.ts";
import type { Result } from "../../protocol/index.ts";
import { fromWire } from "../../rpc/error-wire.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { Credential } from "../access/credential.ts";
import { createRights } from "../access/rights.ts";
import { rightsContext } from "../access/rights-context.ts";
import { Audit } from "../audit/audit.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import { Journal, type LostProcess } from "../durable/journal.ts";
import { openSpool } from "../durable/open-spool.ts";
import { createServerFor, type ObservedServer } from "./server.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import { KeptLines } from "../run-as/kept-lines.ts";
import type {
  FrontMethod,
  RelayedConnection,
  ToUserServer,
  UserSettings,
  UserState,
} from "../run-as/messages.ts";
import type { Owner, TakeFrame } from "../run-as/owner-listener.ts";
import { RelayedTransport } from "../run-as/relayed-transport.ts";
import { RelayedRecords, Reporter } from "../run-as/reporter.ts";

const STATE_MS = 250;
/** Characters of a setting in a message. */
const MAX_EXCERPT = 200;
const SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin";

interface Surroundings {
  readonly send: Owner["send"];
  readonly reporter: Reporter;
  /** The program's own file. */
  readonly programFile: string;
}

/** The server in the program of a user, or in a keeper. */
export class UserService {
  readonly #server: ObservedServer;
  readonly #options: ServerOptions;
  readonly #files: ServerFiles;
  readonly #cwd: string;
  readonly #listeners = new OwnListeners();
  readonly #records: RelayedRecords | undefined;
  readonly #send: Owner["send"];
  readonly #reporter: Reporter;
  readonly #timer: NodeJS.Timeout;
  readonly #settings: UserSettings;
  readonly #kept: KeptLines | undefined;
  readonly #spool: Spool | undefined;
  /** Of clients, for questions about them. */
  readonly #connections = new WeakMap<Credential, number>();
  /** Questions that the server has not answered yet. */
  readonly #asked = new Map<number, Deferred<unknown>>();
  #questions = 0;
  #lastConnection = 0;
  #state = "";
  /** As reported by the parent. */
  #isCordoned = false;

  /** Throws if it cannot serve with these settings. */
  constructor(settings: UserSettings, { send, reporter, programFile }: Surroundings) {
    const { account, keeper, options, files, cwd, audit, isObserved, idleMs } = settings;
    if (account !== undefined) become(account, programFile);
    const journal = keeper && new Journal(keeper.journal, reporter.logger);
    this.#kept = keeper && new KeptLines();
    this.#spool = keeper && openSpool(keeper.spool, options.limits, reporter.logger);
    this.#settings = settings;
    this.#send = send;
    this.#reporter = reporter;
    this.#cwd = cwd;
    this.#files = files;
    this.#records = audit && new RelayedRecords(reporter, this.#kept);
    this.#options = {
      ...options,
      environment: account === undefined ? (keeper?.environment ?? {}) : environmentOf(account),
      logger: reporter.logger,
      observers: [...(isObserved ? [reporter.observer] : []), ...(journal === undefined ? [] : [journal])],
      ...(keeper === undefined ? { idle: { afterMs: idleMs, call: () => send({ kind: "idle" }) } } : {}),
    };
    this.#server = createServerFor(this.#listeners, this.#options, {
      audit: this.#records && new Audit(this.#records, audit),
      files,
      cwd,
      spool: this.#spool,
      front: keeper && this.#frontHandlers(settings),
    });
    const { cordon } = this.#server;
    cordon.watch(() => {
      // The parent already knows its own changes.
      if (cordon.isCordoned !== this.#isCordoned) send({ kind: "cordon", isCordoned: cordon.isCordoned });
    });
    this.#timer = setInterval(() => this.#reportState(), STATE_MS).unref();
    this.#recordLost(journal?.newlyLost ?? []);
  }

  /** The highest number of a connection so far. */
  get lastConnection(): number {
    return this.#lastConnection;
  }

  get usesNetwork(): boolean {
    return this.#server.usesNetwork;
  }

  get state(): UserState {
    const { sessions, runningProcesses, bufferedBytes } = this.#server.state();
    return { sessions, runningProcesses, bufferedBytes };
  }

  /** In which settings another server differs from the one that has started this keeper. */
  differences(settings: UserSettings): string[] {
    const [own, others] = [this.#settings, settings].map(comparable);
    return Object.keys({ ...own, ...others })
      .filter((name) => own![name] !== others![name])
      .map((name) => `${name}: ${excerpt(own![name])}, now ${excerpt(others![name])}`);
  }

  /** Tells another server, which has taken the place of the one before, what it does not know. */
  attached({ keeper }: UserSettings): void {
    // It says so if its log cannot be written.
    if (this.#records !== undefined) this.#records.isFailing = false;
    this.#isCordoned = false;
    // Their clients went with the server before.
    this.#asked.clear();
    if (this.#server.cordon.isCordoned) this.#send({ kind: "cordon", isCordoned: true });
    this.#state = "";
    this.#reportState();
    for (const line of this.#kept?.after(keeper?.recorded ?? {}) ?? []) this.#reporter.add(line);
  }

  take(message: ToUserServer): void {
    switch (message.kind) {
      case "auditFailing":
        if (this.#records !== undefined) this.#records.isFailing = message.isFailing;
        break;
      case "recorded":
        this.#kept?.recorded(message.record);
        break;
      case "answer": {
        const asked = this.#asked.get(message.id);
        this.#asked.delete(message.id);
        if (message.error === undefined) asked?.resolve(message.result);
        else asked?.reject(fromWire(message.error));
        break;
      }
      case "cordon":
        this.#isCordoned = message.isCordoned;
        this.#server.cordon.set(message.isCordoned);
        break;
      case "drain":
        void this.#server.drain().then(() => this.#send({ kind: "drained" }));
        break;
      default:
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#server.close();
    await this.#spool?.close();
  }

  /** Serves a client. Returns what takes its frames. */
  connect(connection: RelayedConnection, socket: Socket): TakeFrame {
    for (const port of connection.ports) this.#listeners.add(port);
    const transport = new RelayedTransport(socket, connection);
    const { number, principal, tokenName, resumable, from } = connection;
    this.#lastConnection = Math.max(this.#lastConnection, number);
    try {
      // It runs as that user already.
      const { runAs: _, ...options } = connection.rights;
      const rights = createRights(options, { ...rightsContext(this.#options, this.#files), cwd: this.#cwd });
      const credential = { principal, rights, ...(tokenName === undefined ? {} : { name: tokenName }) };
      this.#connections.set(credential, number);
      this.#server.accept(transport, {
        resumable,
        credential,
        from,
        number,
        ended: () => this.#reportState(),
      });
      this.#reportState();
    } catch (error) {
      transport.open({ message: () => {}, drain: () => {}, close: () => {} });
      transport.close({ code: 1011, reason: messageOf(error) });
      this.#reporter.logger.error("a connection cannot be served", { reason: messageOf(error) });
    }
    return (frame) => transport.take(frame);
  }

  /** What the server has: the file of the audit log, and the console. */
  #frontHandlers({ hasConsole }: UserSettings) {
    const handle =
      <M extends FrontMethod>(method: M) =>
      ({ credential }: ClientConnection, params: unknown): Promise<Result<M>> => {
        const asked = createDeferred<unknown>();
        this.#questions += 1;
        this.#asked.set(this.#questions, asked);
        const connection = this.#connections.get(credential) ?? 0;
        this.#send({ kind: "ask", id: this.#questions, connection, method, params });
        // Checked by the router, as every result is.
        return asked.promise as Promise<Result<M>>;
      };
    return {
      "server/audit": handle("server/audit"),
      ...(hasConsole ? { "console/link": handle("console/link") } : {}),
    } satisfies Handlers<ClientConnection>;
  }

  #recordLost(lost: readonly LostProcess[]): void {
    if (lost.length === 0) return;
    this.#reporter.logger.error("the keeper was killed, and what it ran is lost", { processes: lost.length });
    for (const { process, pid, startedAt, connection, principal } of lost)
      this.#records?.add(
        "lost",
        { process, pid, startedAt },
        `,"connection":${connection},"principal":${JSON.stringify(principal)}`,
      );
  }

  #reportState(): void {
    const { state } = this;
    const text = JSON.stringify(state);
    if (text !== this.#state && this.#reporter.report({ kind: "state", state })) this.#state = text;
  }
}

/** What must be the same for all servers of a keeper, as text. The environment is that of the first one. */
function comparable(settings: UserSettings): Record<string, string> {
  const { options, files, cwd, audit, isObserved, hasConsole } = settings;
  const { version: _version, program: _program, limits, ...compared } = options;
  const entries = Object.entries({
    ...limits,
    ...compared,
    ...files,
    cwd,
    audit,
    metrics: isObserved,
    console: hasConsole,
  });
  return Object.fromEntries(
    entries.filter(([, value]) => value !== undefined).map(([name, value]) => [name, JSON.stringify(value)]),
  );
}

function excerpt(value = "not set"): string {
  return value.length <= MAX_EXCERPT ? value : `${value.slice(0, MAX_EXCERPT)}…`;
}

function become(account: NumberedAccount, programFile: string): void {
  becomeUser(account);
  // The user may have stopped it by then, so that it could not learn of the end.
  endWithParent();
  checkReadable(programFile, account);
  enterHome(account);
}

/** Variables that a login would set, and nothing of the server's own. */
function environmentOf({ name, home, shell = "/bin/sh" }: NumberedAccount): Environment {
  return { HOME: home, USER: name, LOGNAME: name, SHELL: shell, PATH: SEARCH_PATH };
}

/** Parts of the program are loaded when they are needed, as that user. */
function checkReadable(file: string, { name }: NumberedAccount): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    throw new CapabilityError(
      "OS_ERROR",
      `the user ${name} cannot read the program ${file}: install it where every user can read it`,
      { cause },
    );
  }
}

function enterHome({ home }: NumberedAccount): void {
  try {
    process.chdir(home);
  } catch {
    process.chdir("/");
  }
}
