import { invalidParams } from "../wire/refusals.ts";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { RpcError } from "../../base/errors.ts";
import { Listener } from "../../capabilities/tcp/listener.ts";
import { TcpConnection } from "../../capabilities/tcp/tcp-connection.ts";
import { connectUnixSocket } from "../../capabilities/tcp/unix-socket.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { Locations } from "../files/locations.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { perClient } from "../wire/per-client.ts";
import { ListenerSlots, TcpConnections, type TcpLimits } from "./tcp-connections.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 10 * 60_000;
const MAX_READ_BYTES = 256 * 1024;
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const LOOPBACK = "127.0.0.1";

export interface TcpParts {
  readonly sandboxes: Sandboxes;
  readonly locations: Locations;
}

export function tcpHandlers(limits: TcpLimits, { sandboxes, locations }: TcpParts) {
  const slots = new ListenerSlots(limits.maxListeners);
  const connectionsOf = perClient<ClientConnection, TcpConnections>(
    ({ signal }) => new TcpConnections(limits, { slots, signal }),
    (connections) => connections.closeAll(),
  );
  return {
    "tcp/connect": (client, { tcpId, host, port, timeoutMs }) => {
      sandboxes.checkTcp(client, "tcp/connect");
      const patienceMs = Math.min(timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
      return new DeferredAnswer(
        connectionsOf(client)
          .connect(tcpId, (signal) => TcpConnection.open({ host, port }, { timeoutMs: patienceMs, signal }))
          .then(({ remote }) => remote),
      );
    },

    "unix/connect": (client, { tcpId, path }) => {
      sandboxes.checkUnix(client, "unix/connect");
      const location = locations.locate(client, { path });
      const check = (fd: number, real: string): void => sandboxes.checkSocket(real, fd);
      return new DeferredAnswer(
        connectionsOf(client)
          .connect(tcpId, (signal) =>
            connectUnixSocket(location, check, { timeoutMs: DEFAULT_TIMEOUT_MS, signal }),
          )
          .then(() => ({})),
      );
    },

    "tcp/listen": (client, { listenId, host, port }) => {
      sandboxes.checkTcp(client, "tcp/listen");
      const connections = connectionsOf(client);
      const address = { host: host ?? LOOPBACK, port };
      return new DeferredAnswer(
        connections
          .listen(listenId, () => Listener.onPort(address, connections.admits))
          .then(({ local }) => ({ address: local?.address ?? "", port: local?.port ?? 0 })),
      );
    },

    "unix/listen": (client, { listenId, path }) => {
      sandboxes.checkUnix(client, "unix/listen");
      const location = locations.locate(client, { path });
      const connections = connectionsOf(client);
      const check = (real: string): void => sandboxes.checkSocket(real);
      return new DeferredAnswer(
        connections
          .listen(listenId, () => Listener.onPath(location, { admits: connections.admits, check }))
          .then(() => ({})),
      );
    },

    "tcp/accept": (client, { listenId, tcpId }) =>
      new DeferredAnswer(
        connectionsOf(client)
          .accept(listenId, tcpId)
          .then(({ remote }) => remote),
      ),

    "tcp/unlisten": (client, { listenId }) => {
      connectionsOf(client).unlisten(listenId);
      return {};
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
