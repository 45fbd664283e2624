import {
  AuthorizationError,
  connect,
  type ConnectionOptions,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  UserAuthenticationExpiredError,
} from "@nats-io/transport-node";
import { settledWithin } from "../base/deadlines.ts";
import { ConnectionError } from "../base/errors.ts";
import type { Bus, BusEvents, BusMessage } from "./bus.ts";
import { HEADER_BYTES } from "./frames.ts";
import { type LeanNats, leanNats } from "./lean-nats.ts";
import { openFailure, refusedLogin } from "./open-failure.ts";
import { MAX_PIECE_BYTES } from "./outgoing.ts";

/** A link that fails silently is noticed within three of these. */
const PING_MS = 2_000;
const RECONNECT_MS = 200;
/** For one attempt to connect: the library does not notice that a server ends in the middle of it. */
export const HANDSHAKE_MS = 5_000;
const FLUSH_MS = 500;
const NO_RESPONDERS = 503;

/** A connection to NATS that is kept up. */
export class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #lean: LeanNats | undefined;
  readonly #watchers = new Set<BusEvents>();
  #isConnected = true;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
    this.#lean = leanNats(connection);
    void this.#follow();
  }

  /** Rejects with a ConnectionError that says what is wrong. */
  static async open(options: ConnectionOptions): Promise<NatsBus> {
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
    if (unfit === undefined) return new NatsBus(connection);
    await connection.close();
    throw new ConnectionError(unfit);
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  publish(subject: string, data: Uint8Array, reply?: string): void {
    if (!this.#isConnected) return;
    if (this.#lean?.publish(subject, data, reply)) return;
    this.#connection.publish(subject, data, reply === undefined ? undefined : { reply });
  }

  subscribe(subject: string, receive: (message: BusMessage) => void): () => void {
    const take = (message: BusMessage): void => {
      try {
        receive(message);
      } catch (fault) {
        // Whoever reads would read no further.
        process.nextTick(() => {
          throw fault;
        });
      }
    };
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) take(read(message));
      },
    });
    this.#lean?.receive(subscription, take);
    return () => {
      this.#lean?.forget(subscription);
      if (!this.#connection.isClosed()) subscription.unsubscribe();
    };
  }

  watch(events: BusEvents): () => void {
    this.#watchers.add(events);
    return () => void this.#watchers.delete(events);
  }

  /** What was published before has reached the server. Rejects with a ConnectionError if the connection is lost. */
  async flush(): Promise<void> {
    this.#lean?.flush();
    await this.#connection.flush().catch((cause: unknown) => {
      throw new ConnectionError("the connection to NATS was lost", { cause });
    });
  }

  /** What was published is sent before, if that is possible soon. */
  async close(): Promise<void> {
    if (this.#isConnected) await settledWithin(this.flush(), FLUSH_MS);
    this.#isConnected = false;
    await this.#connection.close();
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === "staleConnection") this.#lean?.abandon();
      // Told for each attempt that fails, too.
      if (status.type === "disconnect" && this.#isConnected) {
        this.#isConnected = false;
        for (const watcher of this.#watchers) watcher.disconnected?.();
      }
      if (status.type === "error" && status.error instanceof PermissionViolationError)
        for (const watcher of this.#watchers) watcher.denied?.(status.error.subject);
      if (status.type === "error" && isRefusedLogin(status.error))
        this.#tellRefusal(refusedLogin(status.error));
      if (status.type !== "reconnect" || this.#isConnected) continue;
      const unfit = unfitReason(this.#connection);
      if (unfit !== undefined) {
        // Publishing would throw, or make the server end the connection again.
        this.#tellRefusal(unfit);
        await this.#connection.reconnect();
        continue;
      }
      this.#isConnected = true;
      this.#lean?.reconnected();
      for (const watcher of this.#watchers) watcher.reconnected();
    }
    this.#isConnected = false;
    const error = await this.#connection.closed();
    const reason = `the connection to NATS is closed${error ? `: ${error.message}` : ""}`;
    for (const watcher of this.#watchers) watcher.ended(reason);
  }

  #tellRefusal(reason: string): void {
    for (const watcher of this.#watchers) watcher.refused?.(reason);
  }
}

/** Why a connection to this NATS server is of no use; undefined if it is. */
function unfitReason({ info }: NatsConnection): string | undefined {
  // Without it, the connection is lost again.
  if (info === undefined || info.max_payload >= MAX_PIECE_BYTES + HEADER_BYTES) return undefined;
  return `the NATS server allows messages of ${info.max_payload} bytes only: set its max_payload to 1MB`;
}

function isRefusedLogin(error: Error): boolean {
  return error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError;
}

function read(message: Msg): BusMessage {
  const { subject, data, reply } = message;
  return {
    subject,
    data: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    reply: reply === undefined || reply === "" ? undefined : reply,
    isUndeliverable: message.headers?.code === NO_RESPONDERS,
  };
}
