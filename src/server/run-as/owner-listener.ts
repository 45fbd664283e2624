import { createServer, type Server, type Socket } from "node:net";
import { isBelow } from "../../capabilities/host/connection-owner.ts";
import { descriptorOf, peerProcess } from "../../native/peer-process.ts";
import { resultOr } from "../../native/result-or.ts";
import { type Frame, readFrames, writeFrame } from "../wire/frames.ts";
import {
  type FromUserServer,
  type KeeperCommand,
  type Opening,
  PROTOCOL,
  type RelayedConnection,
  type ToUserServer,
} from "./messages.ts";
import { MAX_USER_MESSAGE_BYTES } from "./read-user-message.ts";

const OPENING_TIMEOUT_MS = 10_000;
const BACKLOG = 4_096;

/** Takes the frames of a connection. The next one is taken when the promise resolves. */
export type TakeFrame = (frame: Frame) => Promise<void> | undefined;

/** The server that started this program, or its successor. */
export interface Owner {
  /** `sent` is called when it is on its way. Messages are sent in order. */
  send(message: FromUserServer, sent?: () => void): void;
}

export interface OwnerListenerEvents {
  /** Whether others can find the socket. */
  readonly isNamed: boolean;
  /** Returns what takes its messages. */
  control(owner: Owner): (message: ToUserServer) => void;
  /** The owner is gone. */
  lost(owner: Owner): void;
  command(command: KeeperCommand, owner: Owner): void;
  /** Returns what takes the client's frames, at the latest when there is a server. */
  client(connection: RelayedConnection, socket: Socket): TakeFrame | Promise<TakeFrame>;
}

/**
 * Listens on the socket that a user's server got from the one that started it, and takes connections of the same user as
 * that one: it was asked for its user before this program became another. The socket of a keeper has a name, which other
 * servers' sandboxes may show: nothing in them is taken for its server.
 */
export class OwnerListener {
  readonly #server: Server;
  readonly #owner: number | undefined;
  readonly #events: OwnerListenerEvents;

  constructor(fd: number, events: OwnerListenerEvents, owner = process.geteuid?.()) {
    this.#owner = owner;
    this.#events = events;
    this.#server = createServer((socket) => this.#accept(socket)).listen({ fd, backlog: BACKLOG });
  }

  close(): void {
    this.#server.close();
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {});
    const peer = resultOr(undefined, () => peerProcess(descriptorOf(socket)));
    const isOwner = peer?.uid === this.#owner && peer !== undefined;
    if (!isOwner || (this.#events.isNamed && isBelow(peer.pid))) {
      socket.destroy();
      return;
    }
    const timer = setTimeout(() => socket.destroy(), OPENING_TIMEOUT_MS);
    socket.once("close", () => clearTimeout(timer));
    let take: TakeFrame | undefined;
    readFrames(
      socket,
      {
        admit: ({ kind, length }) => {
          if (take === undefined && (kind !== "open" || length > MAX_USER_MESSAGE_BYTES))
            throw new Error("the connection does not begin as it must");
          return undefined;
        },
        frame: (frame) => {
          if (take !== undefined) return take(frame);
          clearTimeout(timer);
          const taking = this.#begin(JSON.parse(frame.text) as Opening, socket);
          if (!(taking instanceof Promise)) take = taking;
          else return taking.then((taken) => void (take = taken));
          return undefined;
        },
      },
      () => socket.destroy(),
    );
  }

  #begin(opening: Opening, socket: Socket): TakeFrame | Promise<TakeFrame> {
    if (opening.role === "client") return this.#events.client(opening.connection, socket);
    const owner: Owner = { send: (message, sent) => send(socket, message, sent) };
    if (opening.protocol !== PROTOCOL) {
      const message = `it is of another version (protocol ${PROTOCOL}, not ${opening.protocol})`;
      owner.send({ kind: "fault", message }, () => socket.destroy());
      return () => undefined;
    }
    if (opening.role === "command") {
      this.#events.command(opening.command, owner);
      return () => undefined;
    }
    const take = this.#events.control(owner);
    socket.once("close", () => this.#events.lost(owner));
    return ({ text }) => {
      take(JSON.parse(text) as ToUserServer);
      return undefined;
    };
  }
}

function send(socket: Socket, message: FromUserServer, sent: () => void = () => {}): void {
  if (!socket.writable) {
    sent();
    return;
  }
  for (const text of texts(message)) writeFrame(socket, "message", { text });
  socket.write("", sent);
}

/**
 * Splits reports over as many messages as needed; a single one that is too long, such as one with long arguments, is
 * left out.
 */
function texts(message: FromUserServer): string[] {
  if (message.kind !== "reports") return [JSON.stringify(message)];
  const parts = message.reports.map((report) => JSON.stringify(report));
  const messages: string[] = [];
  const maxBytes = MAX_USER_MESSAGE_BYTES / 2;
  for (let from = 0; from < parts.length; ) {
    let to = from;
    for (let bytes = 0; to < parts.length; to += 1) {
      bytes += Buffer.byteLength(parts[to]!);
      if (bytes > maxBytes) break;
    }
    if (to > from) messages.push(`{"kind":"reports","reports":[${parts.slice(from, to).join(",")}]}`);
    // Skips the one that did not fit even alone.
    from = to > from ? to : to + 1;
  }
  return messages;
}
