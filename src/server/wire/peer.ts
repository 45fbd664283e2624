import { shorten } from "../../base/shorten.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { IdText, WireError } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { Connection, type ConnectionHooks } from "../../rpc/connection.ts";
import { JsonText, JsonParts } from "../../rpc/json-text.ts";
import { HIGH_WATER_BYTES, type Transport } from "../../transport/transport.ts";
import { bulkMessage } from "./bulk-message.ts";
import { eventMessage } from "./event-message.ts";

/** Events of a client's connection. */
export interface PeerHooks extends Pick<ConnectionHooks, "request" | "notification" | "drain" | "closed"> {
  /** The answer to a message that exceeds the limit. */
  tooLong(): WireError;
  /** The client violated the protocol. `reason` contains nothing of what it sent. */
  violated(reason: string): void;
}

/** A client as the server sees it. */
export class Peer extends Connection {
  constructor(transport: Transport, hooks: PeerHooks) {
    super(transport, {
      ...hooks,
      malformed: (reason) => {
        hooks.violated("malformed message");
        this.failMalformed({ code: RpcCode.invalidRequest, message: reason });
      },
      tooLong: () => {
        hooks.violated("message too long");
        this.failMalformed(hooks.tooLong());
      },
      // Disconnects a peer that violates the protocol without an answer, as Codex does. A second answer does no harm.
      unsolicited: (id) => {
        if (this.hasSent(id)) return;
        hooks.violated("unexpected answer");
        this.destroy(`unexpected answer to request ${shorten(id)}`);
      },
    });
  }

  /** `result` is a value, a JsonText or a JsonParts. A lazy answer may be sent together with others. */
  respond(id: IdText, result: unknown, { lazily }: { lazily: boolean }): void {
    if (result instanceof JsonParts) {
      this.sendResultInParts(id, result.parts, result.release);
      return;
    }
    const json = result instanceof JsonText ? result.text : JSON.stringify(result);
    if (lazily) this.sendResultLazily(id, json);
    else this.sendResult(id, json);
  }

  /** Returns a function that sends events of that process. It uses the bytes of an event only during the call. */
  eventSender(processId: string): (event: ProcessEvent) => void {
    const processIdJson = JSON.stringify(processId);
    return (event) => {
      const { message, release } = eventMessage(processIdJson, event);
      this.sendEncoded(message, release);
    };
  }

  /** One piece of a streamed HTTP body. */
  sendBodyDelta(requestId: string, seq: number, bytes: Uint8Array): void {
    const { message, release } = bulkMessage(
      `{"method":"http/request/bodyDelta","params":{"requestId":${JSON.stringify(requestId)},"seq":${seq},"deltaBase64":"`,
      bytes,
      '","done":false,"error":null}}',
    );
    this.sendEncoded(message, release);
  }
}

/** True while bulk data has to wait. */
export function isFull(peer: Peer): boolean {
  return !peer.ended && peer.queuedBytes >= HIGH_WATER_BYTES;
}
