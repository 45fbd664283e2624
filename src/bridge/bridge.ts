import { createDeferred } from "../base/deferred.ts";
import { pause, settledWithin } from "../base/deadlines.ts";
import { ConnectionError, disconnected, type ExecError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { shorten } from "../base/shorten.ts";
import type { Connector, OpenTransport } from "../client/link/connectors.ts";
import { openLink, openSession } from "../client/link/handshake.ts";
import { RecoveryBudget } from "../client/link/recovery-budget.ts";
import { recover } from "../client/session/recovery.ts";
import { isTransient } from "../client/calls/transient-errors.ts";
import { formatError, MalformedMessageError } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";
import { MALFORMED_MESSAGE_ID } from "../protocol/wire-limits.ts";
import { HIGH_WATER_BYTES, type Transport } from "../transport/transport.ts";
import { ClientCalls } from "./client-calls.ts";
import { ClientRequests, plainCall } from "./client-requests.ts";
import { ConnectionState } from "./connection-state.ts";
import { ProcessRelays } from "./process-relays.ts";
import { RelayedMessage } from "./relayed-message.ts";
import { UpstreamLink } from "./upstream-link.ts";

const MALFORMED_ID = String(MALFORMED_MESSAGE_ID);
/** Time for the first connection. Clients give a command 10 s to answer. */
const FIRST_CONNECTION_MS = 5_000;
/** Time for reconnecting after the client has ended. Clients kill a command after 2 s. */
const LAST_RECOVERY_MS = 1_000;
/** Time to wait for answers to the client's last requests after the client has ended. */
const LAST_ANSWERS_MS = 1_000;
/** Time to wait for answers to the bridge's own last requests. */
const FAREWELL_MS = 500;

/** The server of a bridge, and how long to try to reach it. */
export interface BridgeOptions {
  /** Opens a connection to the server. */
  readonly open: OpenTransport;
  /** True if a lost connection can be replaced by another to the same server. */
  readonly resumable: boolean;
  readonly connectTimeoutMs: number;
  readonly initializeTimeoutMs: number;
  /** Maximum time without a connection before a session is abandoned. */
  readonly recoveryTimeoutMs: number;
  readonly logger: Logger;
}

/**
 * Carries the messages of one client, which cannot reconnect, to a server, over as many connections as needed. The
 * client sees one connection that never ends: the bridge resumes the session, reads missed events, and resends
 * unanswered requests where that is safe.
 */
export class Bridge {
  readonly #front: Transport;
  readonly #options: BridgeOptions;
  readonly #budget: RecoveryBudget;
  readonly #toClient = (message: RelayedMessage | string): void => this.#pass(message);
  readonly #calls = new ClientCalls(this.#toClient);
  readonly #state = new ConnectionState(this.#toClient);
  readonly #relays = new ProcessRelays({
    toClient: this.#toClient,
    link: () => this.#link,
    calls: this.#calls,
    supports: (extension) => this.#requests.supports(extension),
  });
  readonly #requests = new ClientRequests(this.#state, this.#relays);
  readonly #closing = new AbortController();
  readonly #ended = createDeferred<ExecError | undefined>();
  /** Resolves when it is over: with the error if the server was lost, without one if the client has left. */
  readonly ended = this.#ended.promise;
  #initialized = false;
  #link: UpstreamLink | undefined;
  #recovering: Promise<void> | undefined;
  #left: Promise<void> | undefined;
  #isOver = false;

  private constructor(front: Transport, options: BridgeOptions) {
    this.#front = front;
    this.#options = options;
    this.#budget = new RecoveryBudget(options.recoveryTimeoutMs);
  }

  /**
   * Connects to the server, then starts to read from the client. Rejects, and ends the client's connection, if the
   * server cannot be reached.
   */
  static async open(front: Transport, options: BridgeOptions, signal: AbortSignal): Promise<Bridge> {
    const bridge = new Bridge(front, options);
    const link = await bridge.#openFirst(signal).catch((error: unknown) => {
      front.destroy();
      throw error;
    });
    front.open({
      message: (text) => bridge.#receive(() => RelayedMessage.ofText(text)),
      longMessage: (long) => bridge.#receive(() => RelayedMessage.ofLong(long)),
      drain: () => bridge.#link?.resume(),
      inputEnd: () => void bridge.#clientEnded(),
      close: () => void bridge.close(),
    });
    bridge.#use(link);
    return bridge;
  }

  /** Ends the session and everything it still runs. */
  close(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  /** The client sends no more requests, but may still read: `echo … | exec-server bridge --stdio`. */
  async #clientEnded(): Promise<void> {
    if (this.#link !== undefined) await settledWithin(this.#calls.answered(), LAST_ANSWERS_MS);
    await this.close();
  }

  async #leave(): Promise<void> {
    if (this.#recovering !== undefined) await settledWithin(this.#recovering, LAST_RECOVERY_MS);
    this.#closing.abort();
    const link = this.#link;
    if (link !== undefined) {
      link.resume();
      await settledWithin(this.#relays.terminateAll(link), FAREWELL_MS);
      link.close();
      await settledWithin(this.ended, FAREWELL_MS);
      link.destroy();
    }
    await this.ended;
  }

  // Handles messages from the client.

  #receive(read: () => RelayedMessage): void {
    let message: RelayedMessage;
    try {
      message = read();
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error;
      const text = `failed to parse ${this.#front.source}: ${shorten(error.message)}`;
      this.#toClient(formatError(MALFORMED_ID, { code: RpcCode.invalidRequest, message: text }));
      return;
    }
    if (!this.#closing.signal.aborted) this.#fromClient(message);
    this.#updateFront();
  }

  #fromClient(message: RelayedMessage): void {
    const { envelope } = message;
    switch (envelope.kind) {
      case "request":
        this.#calls.add(this.#requests.callOf(message, envelope));
        break;
      case "notification":
        if (envelope.method === "initialized") this.#initialized = true;
        this.#calls.add({ ...plainCall(message, envelope.method), id: undefined });
        break;
      case "response":
      case "error":
        this.#state.answer(message.whole() as typeof envelope);
        message.release();
        break;
    }
  }

  /** Reads from the client only while its messages have room. */
  #updateFront(): void {
    const isBusy = this.#link !== undefined && this.#link.queuedBytes >= HIGH_WATER_BYTES;
    if (isBusy || this.#calls.isFull) this.#front.pause();
    else this.#front.resume();
  }

  // Handles messages from the server.

  #fromServer(link: UpstreamLink, message: RelayedMessage): void {
    const { envelope } = message;
    switch (envelope.kind) {
      case "request":
        this.#state.question(link, message.whole() as typeof envelope);
        message.release();
        break;
      case "notification":
        this.#notified(message, envelope.method);
        break;
      case "response":
      case "error":
        if (envelope.kind === "error" && envelope.id === MALFORMED_ID && this.#calls.refuse(envelope.error)) {
          message.release();
        } else {
          const answer = this.#calls.settle(envelope.id, message);
          if (answer !== undefined) this.#toClient(answer);
          this.#updateFront();
        }
        break;
    }
  }

  #notified(message: RelayedMessage, method: string): void {
    if (method.startsWith("process/")) {
      this.#relays.receive(message, method);
      return;
    }
    const { params } = message;
    if (method === "http/request/bodyDelta") this.#state.bodyPiece(params);
    else if (method === "fs/missingChanged") this.#state.watchesMissing(undefined);
    else if (method === "fs/watch/changed" && params["ended"] === true)
      this.#state.unwatched(params["watchId"]);
    this.#toClient(message);
  }

  #pass(message: RelayedMessage | string): void {
    if (typeof message === "string") this.#front.send(message);
    else message.sendTo(this.#front, () => message.release());
    if (this.#front.queuedBytes >= HIGH_WATER_BYTES) this.#link?.pause();
  }

  // Connections.

  /** A client that cannot reconnect would not try again, so what may pass is tried for a while. */
  async #openFirst(signal: AbortSignal): Promise<UpstreamLink> {
    const budget = new RecoveryBudget(FIRST_CONNECTION_MS);
    for (;;) {
      try {
        return await budget.spend(Number.POSITIVE_INFINITY, () => this.#openLink(signal));
      } catch (error) {
        const pauseMs = budget.pauseMs();
        if (!isTransient(error) || budget.leftMs <= pauseMs) throw error;
        await budget.spend(pauseMs, () => pause(pauseMs, signal));
        signal.throwIfAborted();
      }
    }
  }

  /** Opens a link, and resumes the session if there is one. */
  async #openLink(signal: AbortSignal): Promise<UpstreamLink> {
    let link: UpstreamLink | undefined;
    const connector: Connector = {
      resumable: this.#options.resumable,
      open: async (_events, openSignal) => {
        const transport = await this.#options.open(openSignal);
        link = new UpstreamLink(transport, {
          message: (message) => this.#fromServer(link!, message),
          drain: () => this.#updateFront(),
          closed: (reason) => {
            if (link !== undefined && link === this.#link) this.#lost(reason);
          },
        });
        return link;
      },
    };
    const events = { notification: () => {}, closed: () => {} };
    const { sessionId, greeting } = this.#requests;
    if (sessionId === undefined) {
      await openLink(connector, events, { ...this.#options, signal });
    } else {
      const { environmentInfo } = await openSession(connector, events, {
        ...this.#options,
        clientName: "",
        greeting,
        resumeSessionId: sessionId,
        signal,
      });
      this.#requests.learn(environmentInfo);
    }
    return link!;
  }

  #use(link: UpstreamLink): void {
    if (link.ended) throw disconnected(undefined);
    this.#link = link;
    this.#budget.connected();
    this.#calls.use(link, () => {
      if (this.#initialized) link.notify("initialized", {});
    });
    this.#state.renew(link);
    if (this.#front.queuedBytes >= HIGH_WATER_BYTES) link.pause();
    this.#updateFront();
  }

  #lost(reason: string | undefined): void {
    this.#link = undefined;
    this.#budget.lost();
    const { message } = disconnected(reason);
    this.#relays.hold();
    this.#calls.lose(message);
    this.#state.lose(message);
    if (this.#closing.signal.aborted) this.#finish(undefined);
    else if (!this.#options.resumable || this.#requests.sessionId === "")
      this.#finish(new ConnectionError(message));
    else this.#recovering = this.#recover(message);
  }

  async #recover(message: string): Promise<void> {
    const { recoveryTimeoutMs: timeoutMs, logger } = this.#options;
    logger.info("the connection is lost", { reason: message });
    const result = await recover(message, {
      budget: this.#budget,
      timeoutMs,
      closing: this.#closing.signal,
      logger,
      attempt: (signal) => this.#recoverOnce(signal),
    });
    this.#recovering = undefined;
    if (result === "recovered") logger.info("the session is resumed");
    else this.#finish(result === "closed" ? undefined : result);
  }

  async #recoverOnce(signal: AbortSignal): Promise<void> {
    const link = await this.#openLink(signal);
    try {
      await this.#relays.recover(link, signal);
      signal.throwIfAborted();
      this.#use(link);
    } catch (error) {
      link.destroy();
      throw error;
    }
  }

  #finish(error: ExecError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#front.close();
    this.#ended.resolve(error);
  }
}
