import { setTimeout as delay } from "node:timers/promises";
import {
  AuthorizationError,
  connect,
  type ConnectionOptions,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  type Subscription,
  UserAuthenticationExpiredError,
} from "@nats-io/transport-node";
import { settledWithin } from "../base/deadlines.ts";
import { ConnectionError, messageOf } from "../base/errors.ts";
import type { Bus, BusEvents, BusMessage } from "./bus.ts";
import { HEADER_BYTES } from "./frames.ts";
import { isAway, openFailure, refusedLogin } from "./open-failure.ts";
import { MAX_PIECE_BYTES } from "./outgoing.ts";

/** A link that fails silently is noticed within three of these. */
const PING_MS = 2_000;
const RECONNECT_MS = 200;
/** Limit for one attempt to connect: the library does not notice if a server dies in the middle of it. */
export const HANDSHAKE_MS = 5_000;
const FLUSH_MS = 500;

/** A connection to NATS that is kept up. */
export class NatsBus implements Bus {
  readonly #options: ConnectionOptions;
  readonly #watchers = new Set<BusEvents>();
  /** By the functions that open them. Undefined while the connection is being replaced. */
  readonly #subscriptions = new Map<() => Subscription, Subscription | undefined>();
  #connection: NatsConnection;
  isConnected = true;
  #isClosed = false;
  /** The connection was abandoned because its peer does not read. */
  #isAbandoned = false;

  private constructor(connection: NatsConnection, options: ConnectionOptions) {
    this.#connection = connection;
    this.#options = options;
    void this.#follow();
  }

  /** Rejects with a ConnectionError that explains the problem. */
  static async open(options: ConnectionOptions): Promise<NatsBus> {
    return new NatsBus(await openConnection(options), options);
  }

  publish(subject: string, data: Uint8Array, reply?: string): void {
    if (this.isConnected)
      this.#connection.publish(subject, data, reply === undefined ? undefined : { reply });
  }

  subscribe(subject: string, receive: (message: BusMessage) => void): () => void {
    const callback = (error: Error | null, message: Msg): void => {
      if (error !== null) return;
      try {
        receive(read(message));
      } catch (fault) {
        // The library would stop reading.
        process.nextTick(() => {
          throw fault;
        });
      }
    };
    const open = (): Subscription => this.#connection.subscribe(subject, { callback });
    this.#subscriptions.set(open, this.#isAbandoned ? undefined : open());
    return () => {
      const subscription = this.#subscriptions.get(open);
      this.#subscriptions.delete(open);
      if (!this.#connection.isClosed()) subscription?.unsubscribe();
    };
  }

  watch(events: BusEvents): () => void {
    this.#watchers.add(events);
    return () => void this.#watchers.delete(events);
  }

  /**
   * Resolves when everything published so far has reached the server. Rejects with a ConnectionError if the connection
   * is lost.
   */
  async flush(): Promise<void> {
    await this.#connection.flush().catch((cause: unknown) => {
      throw new ConnectionError("the connection to NATS was lost", { cause });
    });
  }

  /** Sends what was published first, if that is possible soon. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.isConnected) await settledWithin(this.flush(), FLUSH_MS);
    this.isConnected = false;
    await this.#connection.close();
  }

  async #follow(): Promise<void> {
    do await this.#followStatus();
    while (this.#isAbandoned && (await this.#replaceConnection()));
    this.isConnected = false;
    const error = await this.#connection.closed();
    const reason = `the connection to NATS is closed${error ? `: ${error.message}` : ""}`;
    for (const watcher of this.#watchers) watcher.ended(reason);
  }

  /** Runs until the connection is closed. */
  async #followStatus(): Promise<void> {
    let abandoning: NodeJS.Timeout | undefined;
    for await (const status of this.#connection.status()) {
      if (status.type === "staleConnection")
        abandoning = setTimeout(() => void this.#abandon(), RECONNECT_MS);
      if (status.type === "disconnect") {
        clearTimeout(abandoning);
        this.#reportLoss();
      }
      if (status.type === "error" && status.error instanceof PermissionViolationError)
        for (const watcher of this.#watchers) watcher.denied?.(status.error.subject);
      if (status.type === "error" && isRefusedLogin(status.error))
        this.#reportRefusal(refusedLogin(status.error));
      if (status.type !== "reconnect" || this.isConnected) continue;
      const unfit = unfitReason(this.#connection);
      if (unfit !== undefined) {
        // Publishing would throw, or make the server end the connection again.
        this.#reportRefusal(unfit);
        await this.#connection.reconnect();
        continue;
      }
      this.#reportReturn();
    }
    clearTimeout(abandoning);
  }

  /**
   * The library leaves a silent peer only after it has taken all that was written, which may be never. `close` does not
   * wait for that.
   */
  async #abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#reportLoss();
    await this.#connection.close();
  }

  /** False if the bus is closed meanwhile. */
  async #replaceConnection(): Promise<boolean> {
    const silent = this.#connection.getServer();
    const others = this.#connection.getServers().map(({ listen }) => listen);
    // The silent one last: it would hold up the others for as long as connecting may take.
    const servers = [...others.filter((server) => server !== silent), silent];
    while (!this.#isClosed) {
      try {
        this.#connection = await openConnection({ ...this.#options, servers, noRandomize: true });
        this.#isAbandoned = false;
        if (!this.#isClosed) this.#resume();
        else await this.#connection.close();
        return !this.#isClosed;
      } catch (error) {
        if (!isAway(error)) this.#reportRefusal(messageOf(error));
        await delay(RECONNECT_MS);
      }
    }
    return false;
  }

  #resume(): void {
    for (const open of this.#subscriptions.keys()) this.#subscriptions.set(open, open());
    this.#reportReturn();
  }

  /** The library reports each attempt that fails, too. */
  #reportLoss(): void {
    if (!this.isConnected) return;
    this.isConnected = false;
    for (const watcher of this.#watchers) watcher.disconnected?.();
  }

  #reportReturn(): void {
    this.isConnected = true;
    for (const watcher of this.#watchers) watcher.reconnected();
  }

  #reportRefusal(reason: string): void {
    for (const watcher of this.#watchers) watcher.refused?.(reason);
  }
}

async function openConnection(options: ConnectionOptions): Promise<NatsConnection> {
  const connection = await connect({
    pingInterval: PING_MS,
    timeout: HANDSHAKE_MS,
    ...options,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_MS,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
  }).catch((cause: unknown) => {
    throw openFailure(cause);
  });
  const unfit = unfitReason(connection);
  if (unfit === undefined) return connection;
  await connection.close();
  throw new ConnectionError(unfit);
}

/** Why a connection to this NATS server is of no use; undefined if it is. */
function unfitReason({ info }: NatsConnection): string | undefined {
  // Without it, the connection has been lost again.
  if (info === undefined || info.max_payload >= MAX_PIECE_BYTES + HEADER_BYTES) return undefined;
  return `the NATS server allows messages of ${info.max_payload} bytes at most: set its max_payload to 1MB`;
}

function isRefusedLogin(error: Error): boolean {
  return error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError;
}

/**
 * Headers are not read: any publisher chooses them, and the library takes minutes to parse many and throws for some
 * names. NATS's own "no responders" message is recognized by what it lacks; no other one matters.
 */
function read({ subject, data, reply = "" }: Msg): BusMessage {
  return {
    subject,
    data: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    reply: reply === "" ? undefined : reply,
    isUndeliverable: data.length === 0 && reply === "",
  };
}
