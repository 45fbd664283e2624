import type { Socket } from "node:net";
import { messageOf } from "../../base/errors.ts";
import { formatError } from "../../protocol/envelope.ts";
import { CREDENTIAL_ENDED_CLOSE_CODE, MALFORMED_MESSAGE_ID } from "../../protocol/wire-limits.ts";
import { FlushTimer } from "../../transport/flush-timer.ts";
import {
  HIGH_WATER_BYTES,
  type Farewell,
  type LongMessage,
  type Transport,
} from "../../transport/transport.ts";
import { type Credential, watchValidity } from "../access/credential.ts";
import type { Audit } from "../audit/audit.ts";
import { messageTooLong } from "../settings/limits.ts";
import type { ObservedConnection, ServerObserver } from "../settings/observer.ts";
import { contentOf, type Frame, type FrameContent, readFrames, writeFrame } from "../wire/frames.ts";
import type { RelayedEnd } from "./messages.ts";

/** WebSocket's code for an error of the server. */
export const SERVER_FAILED = 1011;
const LOST_MS = 2_000;

/** A client that was admitted. */
export interface AdmittedClient {
  readonly resumable: boolean;
  readonly credential: Credential;
  readonly address: () => string;
  readonly number: number;
  readonly ended: (() => void) | undefined;
}

/** A connection whose session is known from reports. */
export type RelayedObservation = ObservedConnection & { session: string | undefined };

export interface RelayedClientOptions {
  readonly client: AdmittedClient;
  readonly observer: ServerObserver | undefined;
  readonly maxMessageBytes: number;
  ended(): void;
}

/**
 * A client whose requests are carried out by the server of its user. Its messages are passed on to that server, and
 * back; nobody looks into them. Each side waits for the other.
 */
export class RelayedClient {
  readonly observed: RelayedObservation;
  readonly #transport: Transport;
  /** Leads to the server of the user. */
  #socket: Socket | undefined;
  /** Messages that arrive together are passed on together. */
  #flush: FlushTimer | undefined;
  readonly #options: RelayedClientOptions;
  /** Stops watching the credential. */
  readonly #validity: () => void;
  #lost: NodeJS.Timeout | undefined;
  /** Resolves when the client has read enough. */
  #drained: (() => void) | undefined;
  #closed = false;

  constructor(transport: Transport, options: RelayedClientOptions) {
    this.#transport = transport;
    this.#options = options;
    this.observed = observe(transport, options.client);
    options.observer?.connected?.(this.observed);
    // Checked here, so that nothing the user does can prevent it.
    this.#validity = watchValidity(options.client.credential, (reason) =>
      this.#dismiss({ code: CREDENTIAL_ENDED_CLOSE_CODE, reason }),
    );
  }

  get credential(): Credential {
    return this.#options.client.credential;
  }

  /** Nothing is read from the client before. */
  open(connect: () => Socket): void {
    if (this.#closed) return;
    const { maxMessageBytes } = this.#options;
    const socket = connect();
    this.#socket = socket;
    this.#flush = new FlushTimer(socket);
    readFrames(socket, { frame: (frame) => this.#take(frame) }, (error) => socket.destroy(error as Error));
    socket.on("drain", () => this.#transport.resume());
    let isConnected = false;
    socket.once("connect", () => (isConnected = true));
    socket.on("error", (error) => {
      // Afterwards, its end is what matters, and follows.
      if (!isConnected) this.lost(`the server of this user cannot be reached: ${messageOf(error)}`);
    });
    socket.on("close", () => {
      if (this.#closed) return;
      // Why it has ended is known a moment later.
      this.#lost = setTimeout(() => this.lost("the server of this user has ended"), LOST_MS);
    });
    this.#transport.open({
      message: (text) => this.#pass(contentOf(text)),
      longMessage: (message) => this.#passLong(message),
      tooLong: () =>
        this.#transport.send(formatError(String(MALFORMED_MESSAGE_ID), messageTooLong(maxMessageBytes))),
      drain: () => this.#drained?.(),
      close: (reason, code) => this.#end(reason, code),
    });
  }

  /** The server of the user is gone, and can record nothing. */
  lost(reason: string, audit?: Audit): void {
    audit?.disconnected(this.observed, reason);
    this.#dismiss({ code: SERVER_FAILED, reason });
  }

  /** This server ends, and the client's session is kept for the next one. */
  leave(farewell: Farewell): void {
    this.#dismiss(farewell);
  }

  /** Passes nothing more on, and gives the client the reason. */
  #dismiss(farewell: Farewell): void {
    if (this.#closed) return;
    this.#end(farewell.reason);
    this.#transport.close(farewell);
  }

  #pass(content: FrameContent): void {
    const socket = this.#socket;
    if (this.#closed || socket?.writable !== true) return;
    this.#flush?.soon();
    writeFrame(socket, "message", content);
    if (socket.writableNeedDrain) this.#transport.pause();
  }

  #passLong(message: LongMessage): void {
    const { head, value, tail } = message;
    this.#pass({ bytes: [Buffer.from(`${head}"`), value, Buffer.from(`"${tail}`)] });
    // An empty write, to learn when everything before it is flushed.
    this.#socket?.write("", () => message.release());
  }

  #take({ kind, id, text, bytes }: Frame): Promise<void> | undefined {
    if (this.#closed) return undefined;
    switch (kind) {
      case "message":
        if (bytes.length === 0) this.#transport.send(text);
        else this.#transport.sendParts(bytes);
        return this.#transport.queuedBytes < HIGH_WATER_BYTES ? undefined : this.#room();
      case "ping":
        this.#transport.ping?.(() => {
          if (!this.#closed && this.#socket !== undefined) writeFrame(this.#socket, "pong", { id });
        });
        return undefined;
      case "close":
        this.#transport.close(text === "" ? undefined : (JSON.parse(text) as Farewell));
        return undefined;
      case "destroy":
        this.#transport.destroy(text === "" ? undefined : text);
        return undefined;
      default:
        return undefined;
    }
  }

  async #room(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.#drained = undefined;
  }

  #end(reason: string | undefined, code?: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#drained?.();
    const { receivedBytes, sentBytes } = this.#transport;
    const end: RelayedEnd = { reason, code, receivedBytes, sentBytes };
    const socket = this.#socket;
    if (socket?.writable === true) writeFrame(socket, "close", { text: JSON.stringify(end) });
    socket?.end();
    this.#validity();
    clearTimeout(this.#lost);
    const { observer, client } = this.#options;
    observer?.disconnected?.(this.observed, reason);
    this.#options.ended();
    client.ended?.();
  }
}

function observe(transport: Transport, { number, address, credential }: AdmittedClient): RelayedObservation {
  return {
    number,
    from: address(),
    principal: credential.principal,
    tokenName: credential.name,
    session: undefined,
    get receivedBytes() {
      return transport.receivedBytes;
    },
    get sentBytes() {
      return transport.sentBytes;
    },
  };
}
