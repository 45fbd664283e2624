import { shorten } from "../base/shorten.ts";
import type { ProcessEvent } from "../capabilities/process/output/output-log.ts";
import type { IdText, WireError } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";
import { Connection } from "../rpc/connection.ts";
import { JsonParts } from "../rpc/json-parts.ts";
import { JsonText } from "../rpc/json-text.ts";
import type { Farewell, Transport } from "../transport/transport.ts";
import { bulkMessage } from "./bulk-message.ts";
import { eventMessage } from "./event-message.ts";
import type { Peer, PeerHooks } from "./peer.ts";

/** A client reached over a transport. */
export class TransportPeer implements Peer {
  readonly #connection: Connection;

  constructor(transport: Transport, hooks: PeerHooks) {
    this.#connection = new Connection(transport, {
      request: (request, bytes) => hooks.request(request, bytes),
      notification: (method, params) => hooks.notification(method, params),
      malformed: (reason) =>
        this.#connection.failMalformed({ code: RpcCode.invalidRequest, message: reason }),
      tooLong: () => this.#connection.failMalformed(hooks.tooLong()),
      // Disconnects a peer that violates the protocol without an answer, as Codex does.
      unsolicited: (id) => this.destroy(`unexpected answer to request ${shorten(id)}`),
      drain: () => hooks.drain(),
      closed: (reason) => hooks.closed(reason),
    });
  }

  get ended(): boolean {
    return this.#connection.ended;
  }

  get queuedBytes(): number {
    return this.#connection.queuedBytes;
  }

  get receivedBytes(): number | undefined {
    return this.#connection.receivedBytes;
  }

  ping(answered: () => void): boolean {
    return this.#connection.ping(answered);
  }

  open(): void {
    this.#connection.open();
  }

  respond(id: IdText, result: unknown, { lazily }: { lazily: boolean }): void {
    if (result instanceof JsonParts) {
      this.#connection.respondInParts(id, result.parts, result.release);
      return;
    }
    const json = result instanceof JsonText ? result.text : JSON.stringify(result);
    if (lazily) this.#connection.respondLazily(id, json);
    else this.#connection.respond(id, json);
  }

  fail(id: IdText, error: WireError): void {
    this.#connection.fail(id, error);
  }

  notify(method: string, params: unknown): void {
    this.#connection.notify(method, params);
  }

  eventSender(processId: string): (event: ProcessEvent) => void {
    const processIdJson = JSON.stringify(processId);
    return (event) => {
      const { message, release } = eventMessage(processIdJson, event);
      this.#connection.sendEncoded(message, release);
    };
  }

  sendBodyDelta(requestId: string, seq: number, bytes: Uint8Array): void {
    const { message, release } = bulkMessage(
      `{"method":"http/request/bodyDelta","params":{"requestId":${JSON.stringify(requestId)},"seq":${seq},"deltaBase64":"`,
      bytes,
      '","done":false,"error":null}}',
    );
    this.#connection.sendEncoded(message, release);
  }

  pause(): void {
    this.#connection.pause();
  }

  resume(): void {
    this.#connection.resume();
  }

  close(farewell?: Farewell): void {
    this.#connection.close(farewell);
  }

  destroy(reason?: string): void {
    this.#connection.destroy(reason);
  }
}
