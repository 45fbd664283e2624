import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { IdText, WireError } from "../../protocol/envelope.ts";
import type { IncomingRequest } from "../../rpc/incoming-request.ts";
import { type Farewell, HIGH_WATER_BYTES } from "../../transport/transport.ts";

/** Events of a client's connection. */
export interface PeerHooks {
  /** `bytes` is the approximate size of the request. */
  request(request: IncomingRequest, bytes: number): void;
  notification(method: string, params: unknown): void;
  /** The answer to a message that exceeds the limit. */
  tooLong(): WireError;
  /** The client sent what the protocol does not allow. `reason` holds nothing of what it sent. */
  violated(reason: string): void;
  /** The queue has drained enough for more bulk data. */
  drain(): void;
  /** The end, reported once; see `TransportEvents.close`. */
  closed(reason?: string, code?: number): void;
}

/** A client as the server sees it, over a transport or in the same program. */
export interface Peer {
  readonly ended: boolean;
  /** Bytes that were sent but not yet taken by the client. */
  readonly queuedBytes: number;
  /** Bytes received from the client; undefined if they are not counted. */
  readonly receivedBytes: number | undefined;
  /** Bytes sent to the client, likewise. */
  readonly sentBytes: number | undefined;
  open(): void;
  /** Pings the client, and calls `answered` when it responds. False if it cannot be pinged. */
  ping(answered: () => void): boolean;
  /** `result` is a value, a JsonText or a JsonParts. A lazy answer may be sent together with others. */
  respond(id: IdText, result: unknown, options: { lazily: boolean }): void;
  fail(id: IdText, error: WireError): void;
  notify(method: string, params: unknown): void;
  /** Asks the client. Rejects if it answers with an error, or goes, or the signal is aborted. */
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>;
  /** Returns a function that sends events of that process. It uses the bytes of an event only during the call. */
  eventSender(processId: string): (event: ProcessEvent) => void;
  /** One piece of a streamed HTTP body. */
  sendBodyDelta(requestId: string, seq: number, bytes: Uint8Array): void;
  /** Stops and restarts the reading of requests. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then ends. The farewell gives the reason if the transport can carry one. */
  close(farewell?: Farewell): void;
  /** Ends at once. */
  destroy(reason?: string): void;
}

/** True while bulk data has to wait. */
export function isFull(peer: Peer): boolean {
  return !peer.ended && peer.queuedBytes >= HIGH_WATER_BYTES;
}
