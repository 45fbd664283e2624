import { shorten } from "../../base/shorten.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { IdText } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { Connection } from "../../rpc/connection.ts";
import { JsonText, JsonParts } from "../../rpc/json-text.ts";
import type { Transport } from "../../transport/transport.ts";
import { bulkMessage } from "./bulk-message.ts";
import { eventMessage } from "./event-message.ts";
import type { Peer, PeerHooks } from "./peer.ts";

/** A client reached over a transport. */
export class TransportPeer extends Connection implements Peer {
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

  respond(id: IdText, result: unknown, { lazily }: { lazily: boolean }): void {
    if (result instanceof JsonParts) {
      this.sendResultInParts(id, result.parts, result.release);
      return;
    }
    const json = result instanceof JsonText ? result.text : JSON.stringify(result);
    if (lazily) this.sendResultLazily(id, json);
    else this.sendResult(id, json);
  }

  eventSender(processId: string): (event: ProcessEvent) => void {
    const processIdJson = JSON.stringify(processId);
    return (event) => {
      const { message, release } = eventMessage(processIdJson, event);
      this.sendEncoded(message, release);
    };
  }

  sendBodyDelta(requestId: string, seq: number, bytes: Uint8Array): void {
    const { message, release } = bulkMessage(
      `{"method":"http/request/bodyDelta","params":{"requestId":${JSON.stringify(requestId)},"seq":${seq},"deltaBase64":"`,
      bytes,
      '","done":false,"error":null}}',
    );
    this.sendEncoded(message, release);
  }
}
