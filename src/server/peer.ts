import type { ProcessEvent } from "../capabilities/process/output/output-log.ts";
import type { IdText, WireError } from "../protocol/envelope.ts";
import type { IncomingRequest } from "../rpc/incoming-request.ts";
import type { Farewell } from "../transport/transport.ts";

/** What a client's end of the line tells the server. */
export interface PeerHooks {
  /** `bytes` is about what the request takes. */
  request(request: IncomingRequest, bytes: number): void;
  notification(method: string, params: unknown): void;
  /** What to answer to a message that is longer than allowed. */
  tooLong(): WireError;
  /** Enough of what was queued is gone that bulk may follow. */
  drain(): void;
  /** The end, told once. */
  closed(reason?: string): void;
}

/** A client as the server sees it, whether it is reached over a transport or lives in the same program. */
export interface Peer {
  readonly ended: boolean;
  /** Bytes that were sent and that the client has not taken yet. */
  readonly queuedBytes: number;
  /** Bytes that have come from the client; absent where they are not counted. */
  readonly receivedBytes: number | undefined;
  open(): void;
  /** Asks for a sign that the client reads, and calls `answered` when it comes. False where it cannot be asked. */
  ping(answered: () => void): boolean;
  /** `result` is a value, a JsonText or a JsonParts. A lazy answer may go out together with others. */
  respond(id: IdText, result: unknown, options: { lazily: boolean }): void;
  fail(id: IdText, error: WireError): void;
  notify(method: string, params: unknown): void;
  /** A function that sends events of that process. The bytes of an event are used only during the call. */
  eventSender(processId: string): (event: ProcessEvent) => void;
  /** One piece of a streamed HTTP body. */
  sendBodyDelta(requestId: string, seq: number, bytes: Uint8Array): void;
  /** Stops and restarts the reading of requests. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then ends; the farewell tells why, where that can be told. */
  close(farewell?: Farewell): void;
  /** Ends at once. */
  destroy(reason?: string): void;
}
