import { RpcCode } from "../protocol/errors.ts";
import type { Transport } from "../transport/transport.ts";
import { Connection } from "./connection.ts";
import type { Link, LinkEvents } from "./link.ts";

/** A client's link over a transport. A server that breaks the rules of the wire is cut off: nothing it says could be relied on. */
export function openTransportLink(transport: Transport, events: LinkEvents): Link {
  const connection = new Connection(transport, {
    request: (id, method) =>
      connection.fail(id, { code: RpcCode.methodNotFound, message: `this client does not serve ${method}` }),
    notification: (method, params) => events.notification(method, params),
    malformed: (reason) => connection.destroy(reason),
    unsolicited: (id) => connection.destroy(`unexpected answer to request ${id}`),
    drain: () => {},
    closed: (reason) => events.closed(reason),
  });
  connection.open();
  return connection;
}
