import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { serialize } from "node:v8";
import { createDeferred } from "../../base/deferred.ts";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import { openSocketPair, sendDescriptor } from "../../native/descriptor-passing.ts";
import { type FrameEvents, readFrames, writeFrame } from "../wire/frames.ts";
import type { FromUserServer, ToUserServer } from "./messages.ts";
import { MAX_USER_MESSAGE_BYTES, readUserMessage } from "./read-user-message.ts";

/** The system limits descriptors in transit. */
const MAX_IN_FLIGHT = 32;

export interface UserChannelEvents {
  message(message: Exclude<FromUserServer, { kind: "taken" }>): void;
  /** It has sent something that its program never sends. Called once. */
  failed(reason: string): void;
}

/**
 * The channel to a user's server. Messages from there are as untrusted as the user: they are bounded and checked, which
 * Node's own channel between programs does not do.
 */
export class UserChannel {
  readonly #socket: Socket;
  /** Passes descriptors: Node can neither send them over its own sockets, nor receive them. */
  readonly #handover: number;
  readonly #events: UserChannelEvents;
  /** Connections that wait until others have been taken, with their sockets. */
  readonly #waiting: { readonly message: ToUserServer; readonly fd: number }[] = [];
  #inFlight = 0;
  #isClosed = false;
  readonly #childs: readonly [messages: number, handover: number];
  readonly #ended = createDeferred<void>();
  /** Resolves when everything that the other side has sent was taken, and it has closed. */
  readonly ended = this.#ended.promise;

  /** Throws a CapabilityError without free descriptors. */
  constructor(events: UserChannelEvents) {
    const messages = openSocketPair();
    let handover: { own: number; childs: number };
    try {
      handover = openSocketPair();
    } catch (error) {
      closeSync(messages.own);
      closeSync(messages.childs);
      throw error;
    }
    this.#events = events;
    this.#handover = handover.own;
    this.#childs = [messages.childs, handover.childs];
    this.#socket = new Socket({ fd: messages.own });
    this.#listen();
  }

  /** Starts the program with its descriptors 3 and 4, which are closed here afterwards. */
  start<T>(spawn: (descriptors: readonly [number, number]) => T): T {
    try {
      return spawn(this.#childs);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      for (const fd of this.#childs) closeSync(fd);
    }
  }

  send(message: ToUserServer): void {
    if (this.#socket.writable) writeFrame(this.#socket, "message", { bytes: [serialize(message)] });
  }

  /** Sends a socket with the message. It belongs to the channel. */
  sendSocket(message: ToUserServer, fd: number): void {
    if (this.#isClosed) closeSync(fd);
    else {
      this.#waiting.push({ message, fd });
      this.#handOver();
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    closeSync(this.#handover);
    for (const { fd } of this.#waiting.splice(0)) closeSync(fd);
  }

  #handOver(): void {
    const next = this.#inFlight < MAX_IN_FLIGHT ? this.#waiting.shift() : undefined;
    if (next === undefined) return;
    this.#inFlight += 1;
    try {
      // First, so that it is there when its message is.
      sendDescriptor(this.#handover, next.fd);
      this.send(next.message);
    } catch (error) {
      // The other side is gone; how its program ended says more than that, and follows.
      if (error instanceof CapabilityError && error.errno === "EPIPE") this.close();
      else this.#fail(messageOf(error));
    } finally {
      closeSync(next.fd);
    }
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
    if (message.kind === "taken") {
      this.#inFlight -= 1;
      this.#handOver();
    } else this.#events.message(message);
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
