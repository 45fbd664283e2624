import { statSync } from "node:fs";
import { createDeferred } from "../../base/deferred.ts";
import { messageOf } from "../../base/errors.ts";
import { resultOr } from "../../native/result-or.ts";
import type { ToUserServer, UserSettings } from "../run-as/messages.ts";
import { type Owner, OwnerListener } from "../run-as/owner-listener.ts";
import { Reporter } from "../run-as/reporter.ts";
import { UnheardLog } from "../run-as/unheard-log.ts";
import { UserService } from "./user-service.ts";

const FORGOTTEN_CHECK_MS = 3_000;

/** The program that serves. */
export interface ServedProgram {
  /** Its own file, which the user must be able to read. */
  readonly programFile: string;
  readonly version: string;
  /** Of a keeper, which outlives the server that has started it: the socket by which the next one finds it. */
  readonly keeperSocket?: string | undefined;
}

/**
 * A server for the clients that run as one user. It is started as root and becomes that user, before it serves anybody.
 * Or a keeper, for clients that run as the user of the server that has started it: then another one can take the place
 * of that server. It listens on an inherited socket. Returns what ends it, with everything that it runs.
 */
export function serveUser(
  listenerFd: number,
  { programFile, version, keeperSocket }: ServedProgram,
): () => Promise<void> {
  const isKeeper = keeperSocket !== undefined;
  const socket = isKeeper ? inodeOf(keeperSocket) : undefined;
  const started = createDeferred<UserService>();
  const startedAt = new Date().toISOString();
  let service: UserService | undefined;
  let current: Owner | undefined;
  const unheard = new UnheardLog();
  const send: Owner["send"] = (message, sent) => {
    if (current !== undefined) {
      current.send(message, sent);
      return;
    }
    if (message.kind === "reports") unheard.add(message.reports);
    sent?.();
  };
  const reporter = new Reporter((reports, sent) => send({ kind: "reports", reports }, sent));
  /** Ends what it runs. */
  const end = async (): Promise<void> => {
    listener.close();
    await service?.close();
    reporter.flush();
  };
  /** No server finds a keeper whose directory was removed; what it still runs goes on. */
  const endIfForgotten = (): void => {
    if (!isKeeper || current !== undefined || (service?.state.runningProcesses ?? 0) > 0) return;
    if (resultOr(socket, () => inodeOf(keeperSocket)) !== socket) void end().finally(() => process.exit(0));
  };
  if (isKeeper) setInterval(endIfForgotten, FORGOTTEN_CHECK_MS).unref();
  const start = (owner: Owner, settings: UserSettings): void => {
    current = owner;
    try {
      service = new UserService(settings, { send, reporter, programFile });
      started.resolve(service);
      send({ kind: "ready", connections: 0 });
    } catch (error) {
      send({ kind: "fault", message: messageOf(error) }, () => process.exit(1));
    }
  };
  const attach = (owner: Owner, settings: UserSettings, keeper: UserService): void => {
    if (current !== undefined) {
      owner.send({ kind: "fault", message: "it serves another server" });
      return;
    }
    const differences = keeper.differences(settings);
    if (differences.length > 0) {
      const message = `it was started with other settings (${differences.join("; ")}): use the same ones, or end it`;
      owner.send({ kind: "fault", message });
      return;
    }
    // What nobody gets any more.
    reporter.flush();
    current = owner;
    send({ kind: "ready", connections: keeper.lastConnection });
    send({ kind: "reports", reports: unheard.take() });
    keeper.attached(settings);
  };
  const take = (owner: Owner, message: ToUserServer): void => {
    if (message.kind === "settings") {
      if (service === undefined) start(owner, message.settings);
      else attach(owner, message.settings, service);
    } else if (owner !== current) return;
    else if (message.kind === "ping") send({ kind: "pong", usesNetwork: service?.usesNetwork === true });
    // Messages are sent in order, so earlier reports have been sent by then.
    else if (message.kind === "close")
      void end().finally(() => send({ kind: "drained" }, () => process.exit(0)));
    else service?.take(message);
  };
  const listener = new OwnerListener(listenerFd, {
    isNamed: isKeeper,
    control: (owner) => (message) => take(owner, message),
    lost: (owner) => {
      if (owner !== current) return;
      current = undefined;
      if (service === undefined) process.exit(1);
      else if (isKeeper) endIfForgotten();
      else void end().finally(() => process.exit(0));
    },
    // Connections are not read in order: its settings may come after the first client.
    client: (connection, socket) =>
      service?.connect(connection, socket) ?? started.promise.then((one) => one.connect(connection, socket)),
    command: (command, owner) => {
      if (!isKeeper) return;
      const { sessions = 0, runningProcesses = 0 } = service?.state ?? {};
      const isAttached = current !== undefined;
      if (command === "end") void end().finally(() => owner.send({ kind: "drained" }, () => process.exit(0)));
      else
        owner.send({
          kind: "status",
          status: { pid: process.pid, version, startedAt, sessions, runningProcesses, isAttached },
        });
    },
  });
  return end;
}

/** Undefined if nothing is there. */
function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
