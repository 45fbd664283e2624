import { invalidParams } from "../wire/refusals.ts";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { ServerLimits } from "../settings/limits.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { TcpConnections } from "./tcp-connections.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 10 * 60_000;
const MAX_READ_BYTES = 256 * 1024;
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;

export function tcpHandlers(limits: Pick<ServerLimits, "maxTcpConnections">, sandboxes: Sandboxes) {
  const all = new WeakMap<ClientConnection, TcpConnections>();
  const connectionsOf = (client: ClientConnection): TcpConnections => {
    const found = all.get(client) ?? new TcpConnections(limits.maxTcpConnections, client.signal);
    all.set(client, found);
    return found;
  };
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
          .then(
            (take) =>
              new LazyAnswer(() => {
                const { bytes, ended } = take(
                  Math.max(1, Math.min(maxBytes ?? MAX_READ_BYTES, MAX_READ_BYTES)),
                );
                return { chunk: encodeBase64(bytes), ended };
              }),
          ),
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
