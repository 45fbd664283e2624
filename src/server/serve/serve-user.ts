import { accessSync, constants } from "node:fs";
import type { Socket } from "node:net";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { NumberedAccount } from "../../native/account.ts";
import { becomeUser, endWithParent } from "../../native/user-switch.ts";
import { createRights } from "../access/rights.ts";
import { rightsContext } from "../access/rights-context.ts";
import { Audit } from "../audit/audit.ts";
import { createServerFor, type ObservedServer } from "./server.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type {
  FromUserServer,
  RelayedConnection,
  ToUserServer,
  UserSettings,
  UserState,
} from "../run-as/messages.ts";
import { RelayedTransport } from "../run-as/relayed-transport.ts";
import { RelayedRecords, Reporter } from "../run-as/reporter.ts";

const STATE_MS = 250;
const SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin";

/** The other end: the server that started this program. */
export interface ParentServer {
  send(message: FromUserServer, sent?: () => void): void;
  /** Ends this program. */
  exit(code: number): void;
}

/** Takes what the parent sends. */
export interface UserService {
  take(message: ToUserServer, socket: Socket | undefined): void;
  /** The parent is gone. */
  lost(): void;
}

/**
 * A server for the clients that run as one user. It is started as root and becomes that user, before it serves anybody.
 * `programFile` is its own file, which the user must be able to read.
 */
export function serveUser(parent: ParentServer, programFile: string): UserService {
  const reporter = new Reporter((reports, sent) => parent.send({ kind: "reports", reports }, sent));
  let service: Service | undefined;
  const close = (): void => {
    void (service?.close() ?? Promise.resolve()).finally(() => {
      reporter.flush();
      // Node sends messages in order, so earlier reports have been sent by then.
      parent.send({ kind: "drained" }, () => parent.exit(0));
    });
  };
  return {
    take: (message, socket) => {
      if (message.kind === "settings") {
        try {
          service = new Service(message.settings, { parent, reporter, programFile });
          parent.send({ kind: "ready" });
        } catch (error) {
          parent.send({ kind: "fault", message: messageOf(error) }, () => parent.exit(1));
        }
      } else if (message.kind === "ping") parent.send({ kind: "pong" });
      else if (message.kind === "close") close();
      else if (service === undefined) socket?.destroy();
      else service.take(message, socket);
    },
    lost: () => {
      if (service === undefined) parent.exit(1);
      else void service.close().finally(() => parent.exit(0));
    },
  };
}

class Service {
  readonly #server: ObservedServer;
  readonly #options: ServerOptions;
  readonly #files: ServerFiles;
  readonly #cwd: string;
  readonly #listeners = new OwnListeners();
  readonly #records: RelayedRecords | undefined;
  readonly #parent: ParentServer;
  readonly #reporter: Reporter;
  readonly #timer: NodeJS.Timeout;
  #state = "";
  /** As reported by the parent. */
  #isCordoned = false;

  constructor(
    { account, options, files, cwd, audit, isObserved, idleMs }: UserSettings,
    { parent, reporter, programFile }: { parent: ParentServer; reporter: Reporter; programFile: string },
  ) {
    becomeUser(account);
    // The user may have stopped it by then, so that it could not learn of the end.
    endWithParent();
    checkReadable(programFile, account);
    enterHome(account);
    this.#parent = parent;
    this.#reporter = reporter;
    this.#cwd = cwd;
    this.#files = files;
    this.#records = audit && new RelayedRecords(reporter);
    this.#options = {
      ...options,
      environment: environmentOf(account),
      logger: reporter.logger,
      observers: isObserved ? [reporter.observer] : [],
      idle: { afterMs: idleMs, call: () => parent.send({ kind: "idle" }) },
    };
    this.#server = createServerFor(this.#listeners, this.#options, {
      audit: this.#records && new Audit(this.#records, audit),
      files,
      cwd,
    });
    const { cordon } = this.#server;
    cordon.watch(() => {
      // The parent already knows its own changes.
      if (cordon.isCordoned !== this.#isCordoned)
        parent.send({ kind: "cordon", isCordoned: cordon.isCordoned });
    });
    this.#timer = setInterval(() => this.#reportState(), STATE_MS).unref();
  }

  take(message: ToUserServer, socket: Socket | undefined): void {
    switch (message.kind) {
      case "connect":
        if (socket !== undefined) this.#connect(message.connection, socket);
        break;
      case "auditFailing":
        if (this.#records !== undefined) this.#records.isFailing = message.isFailing;
        break;
      case "cordon":
        this.#isCordoned = message.isCordoned;
        this.#server.cordon.set(message.isCordoned);
        break;
      case "drain":
        void this.#server.drain().then(() => this.#parent.send({ kind: "drained" }));
        break;
      default:
    }
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    return this.#server.close();
  }

  #connect(connection: RelayedConnection, socket: Socket): void {
    for (const port of connection.ports) this.#listeners.add(port);
    const transport = new RelayedTransport(socket, connection);
    const { number, principal, tokenName, resumable, from } = connection;
    try {
      // It runs as that user already.
      const { runAs: _, ...options } = connection.rights;
      const rights = createRights(options, { ...rightsContext(this.#options, this.#files), cwd: this.#cwd });
      const credential = { principal, rights, ...(tokenName === undefined ? {} : { name: tokenName }) };
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
  }

  #reportState(): void {
    const { sessions, runningProcesses, bufferedBytes } = this.#server.state();
    const state: UserState = { sessions, runningProcesses, bufferedBytes };
    const text = JSON.stringify(state);
    if (text !== this.#state && this.#reporter.report({ kind: "state", state })) this.#state = text;
  }
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
