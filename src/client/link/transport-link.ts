import { shorten } from "../../base/shorten.ts";
import type { IdText } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Transport } from "../../transport/transport.ts";
import { Connection } from "../../rpc/connection.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";

/** Maximum characters of answers that a server may leave unread. A server that reads them stays far below it. */
const MAX_UNREAD_ANSWERS = 1024 * 1024;
const MAX_NAME_CHARACTERS = 100;

/**
 * A client's link over a transport. A server that violates the protocol is disconnected, because nothing it says could
 * be relied on.
 */
export function openTransportLink(transport: Transport, events: LinkEvents): Link {
  /** Characters of answers sent since the server had last read everything. */
  let unreadAnswers = 0;
  /** False, and the end, for one answer too many. */
  const mayAnswer = (length: number): boolean => {
    if (connection.queuedBytes === 0) unreadAnswers = 0;
    unreadAnswers += length;
    if (unreadAnswers <= MAX_UNREAD_ANSWERS) return true;
    connection.destroy("the server sends requests and does not read the answers");
    return false;
  };
  const fail = (id: IdText, code: RpcCode, message: string): void => {
    if (mayAnswer(id.length + message.length)) connection.fail(id, { code, message });
  };
  const connection = new Connection(transport, {
    request: ({ id, method, params }) => {
      const answer = events.request?.(method, params);
      if (answer === undefined) {
        const name = shorten(method, MAX_NAME_CHARACTERS);
        fail(id, RpcCode.methodNotFound, `this client does not serve ${name}`);
        return;
      }
      answer.then(
        (result) => {
          const json = JSON.stringify(result);
          if (mayAnswer(id.length + json.length)) connection.sendResult(id, json);
        },
        // An error in a program's function concerns the program, not the server.
        () => fail(id, RpcCode.internal, "the client has failed"),
      );
    },
    notification: (method, params) => events.notification(method, params),
    malformed: (reason) => connection.destroy(reason),
    unsolicited: (id) =>
      connection.destroy(`unexpected answer to request ${shorten(id, MAX_NAME_CHARACTERS)}`),
    drain: () => {
      unreadAnswers = 0;
    },
    closed: (reason) => events.closed(reason),
  });
  connection.open();
  return connection;
}
