import { connect, Socket } from "node:net";
import { createDeferred } from "../../base/deferred.ts";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import { type FrameEvents, readFrames, writeFrame } from "../wire/frames.ts";
import {
  type FromUserServer,
  type Opening,
  PROTOCOL,
  type RelayedConnection,
  type ToUserServer,
} from "./messages.ts";
import { MAX_USER_MESSAGE_BYTES, readUserMessage } from "./read-user-message.ts";
import type { UserSocket } from "./user-socket.ts";

export interface UserLinkEvents {
  message(message: FromUserServer): void;
  /** It has sent something that its program never sends. Called once. */
  failed(reason: string): void;
}

/**
 * The connections to a user's server: one for its settings and reports, and one for each client. Messages from there are
 * as untrusted as the user, so they are bounded and checked.
 */
export class UserLink {
  readonly #address: UserSocket;
  readonly #socket: Socket;
  readonly #events: UserLinkEvents;
  #isClosed = false;
  readonly #ended = createDeferred<void>();
  /** Resolves when everything that the other side has sent was taken, and it has closed. */
  readonly ended = this.#ended.promise;

  /** `address` belongs to it. */
  constructor(address: UserSocket, events: UserLinkEvents) {
    this.#address = address;
    this.#events = events;
    this.#socket = this.#open({ role: "control", protocol: PROTOCOL });
    this.#listen();
  }

  send(message: ToUserServer): void {
    if (this.#socket.writable) writeFrame(this.#socket, "message", { text: JSON.stringify(message) });
  }

  /** Opens a connection for a client. */
  connect(connection: RelayedConnection): Socket {
    return this.#open({ role: "client", connection });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    this.#address.close();
  }

  #open(opening: Opening): Socket {
    // What its path led to may be something else by now.
    if (this.#isClosed) return new Socket().destroy(new Error("it has ended"));
    const socket = connect({ path: this.#address.path });
    writeFrame(socket, "open", { text: JSON.stringify(opening) });
    return socket;
  }

  #listen(): void {
    const events: FrameEvents = {
      admit: ({ kind, length }) => {
        if (kind !== "message" || length > MAX_USER_MESSAGE_BYTES) throw notAMessage();
        return undefined;
      },
      frame: ({ text }) => this.#take(text),
    };
    readFrames(this.#socket, events, (error) => this.#fail(messageOf(error)));
    // Its end follows, and that is what matters.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.close();
      this.#ended.resolve();
    });
  }

  #take(text: string): undefined {
    if (this.#isClosed) return;
    const message = readUserMessage(text);
    if (message === undefined) throw notAMessage();
    this.#events.message(message);
  }

  #fail(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#events.failed(reason);
  }
}

function notAMessage(): CapabilityError {
  return new CapabilityError("OS_ERROR", "its server sent something that is not a message");
}
