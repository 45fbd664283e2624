import { shorten } from "../../base/shorten.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Transport } from "../../transport/transport.ts";
import { Connection } from "../../rpc/connection.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";

/** Maximum characters of refusals that a server may leave unread. A server that reads them stays far below it. */
const MAX_UNREAD_REFUSALS = 1024 * 1024;
const MAX_NAME_CHARACTERS = 100;

/**
 * A client's link over a transport. A server that violates the protocol is disconnected, because nothing it says could
 * be relied on.
 */
export function openTransportLink(transport: Transport, events: LinkEvents): Link {
  /** Characters of refusals sent since the server had last read everything. */
  let unreadRefusals = 0;
  const connection = new Connection(transport, {
    request: ({ id, method }) => {
      if (connection.queuedBytes === 0) unreadRefusals = 0;
      const message = `this client does not serve ${shorten(method, MAX_NAME_CHARACTERS)}`;
      unreadRefusals += id.length + message.length;
      if (unreadRefusals > MAX_UNREAD_REFUSALS)
        connection.destroy("the server sends requests and does not read the answers");
      else connection.fail(id, { code: RpcCode.methodNotFound, message });
    },
    notification: (method, params) => events.notification(method, params),
    malformed: (reason) => connection.destroy(reason),
    unsolicited: (id) =>
      connection.destroy(`unexpected answer to request ${shorten(id, MAX_NAME_CHARACTERS)}`),
    drain: () => {
      unreadRefusals = 0;
    },
    closed: (reason) => events.closed(reason),
  });
  connection.open();
  return connection;
}
