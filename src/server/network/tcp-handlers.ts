import { invalidParams } from "../wire/refusals.ts";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { TcpConnection, type TcpTarget } from "../../capabilities/tcp/tcp-connection.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import { limitError, type ServerLimits } from "../settings/limits.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { perClient } from "../wire/per-client.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 10 * 60_000;
const MAX_READ_BYTES = 256 * 1024;
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;

export function tcpHandlers(limits: Pick<ServerLimits, "maxTcpConnections">, sandboxes: Sandboxes) {
  const connectionsOf = perClient<ClientConnection, TcpConnections>(
    ({ signal }) => new TcpConnections(limits.maxTcpConnections, signal),
    (connections) => connections.closeAll(),
  );
  return {
    "tcp/connect": (client, { tcpId, host, port, timeoutMs }) => {
      sandboxes.checkTcp(client);
      const patienceMs = Math.min(timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
      return new DeferredAnswer(
        connectionsOf(client)
          .connect(tcpId, { host, port }, patienceMs)
          .then(({ remote }) => remote),
      );
    },

    "tcp/read": (client, { tcpId, maxBytes }) =>
      new DeferredAnswer(
        connectionsOf(client)
          .read(tcpId)
          .then((take) => {
            const most = Math.max(1, Math.min(maxBytes ?? MAX_READ_BYTES, MAX_READ_BYTES));
            return new LazyAnswer(() => {
              const { bytes, ended } = take(most);
              return { chunk: encodeBase64(bytes), ended };
            });
          }),
      ),

    "tcp/write": (client, { tcpId, chunk, end }) => {
      const bytes = decodeBase64(chunk, invalidParams);
      const connection = connectionsOf(client).get(tcpId);
      if (connection.unsentBytes + bytes.length > MAX_UNSENT_BYTES)
        throw new RpcError(RpcCode.invalidRequest, "the other side has not read 4 MiB; wait for answers", {
          data: { code: "LIMIT_REACHED" },
        });
      return new DeferredAnswer(connection.write(bytes, { end: end === true }).then(() => ({})));
    },

    "tcp/close": (client, { tcpId }) => {
      connectionsOf(client).close(tcpId);
      return {};
    },
  } satisfies Handlers<ClientConnection>;
}

/** The TCP connections of one client, which end with it. */
class TcpConnections {
  readonly #open = new Map<string, TcpConnection>();
  readonly #connecting = new Map<string, AbortController>();
  /** Connections with a pending read. */
  readonly #reading = new WeakSet<TcpConnection>();
  readonly #limit: number;
  readonly #signal: AbortSignal;

  constructor(limit: number, signal: AbortSignal) {
    this.#limit = limit;
    this.#signal = signal;
  }

  async connect(id: string, target: TcpTarget, timeoutMs: number): Promise<TcpConnection> {
    if (this.#open.has(id) || this.#connecting.has(id))
      throw invalidParams(`TCP connection \`${id}\` already exists`);
    if (this.#open.size + this.#connecting.size >= this.#limit)
      throw limitError("maxTcpConnections", this.#limit, "too many TCP connections");
    const attempt = new AbortController();
    this.#connecting.set(id, attempt);
    try {
      const connection = await TcpConnection.open(target, { timeoutMs, signal: attempt.signal });
      if (this.#signal.aborted) connection.destroy();
      else this.#open.set(id, connection);
      return connection;
    } finally {
      this.#connecting.delete(id);
    }
  }

  get(id: string): TcpConnection {
    const connection = this.#open.get(id);
    if (connection === undefined) throw new CapabilityError("NOT_FOUND", `no TCP connection \`${id}\``);
    return connection;
  }

  /** Resolves when there is something to take, with a function that takes it. */
  async read(id: string): Promise<TcpConnection["take"]> {
    const connection = this.get(id);
    if (this.#reading.has(connection)) throw invalidParams(`a read of TCP connection \`${id}\` is waiting`);
    this.#reading.add(connection);
    try {
      await connection.whenReadable();
    } catch (error) {
      this.#reading.delete(connection);
      throw error;
    }
    return (maxBytes) => {
      this.#reading.delete(connection);
      return connection.take(maxBytes);
    };
  }

  close(id: string): void {
    this.#connecting.get(id)?.abort();
    this.#open.get(id)?.destroy();
    this.#open.delete(id);
  }

  closeAll(): void {
    for (const attempt of this.#connecting.values()) attempt.abort();
    for (const connection of this.#open.values()) connection.destroy();
    this.#open.clear();
  }
}
