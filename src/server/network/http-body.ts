import { RpcError } from "../../base/errors.ts";
import type { HttpResponse } from "../../capabilities/http/exchange.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { JsonText, JsonParts } from "../../rpc/json-text.ts";
import type { ActiveHttpRequest } from "./active-http-request.ts";
import { Base64Answer } from "../wire/base64-answer.ts";
import type { Reservation } from "../wire/byte-budget.ts";
import type { ClientConnection } from "../clients/client-connection.ts";

const MAX_DELTA_BYTES = 1024 * 1024;
/** A larger body does not fit into one message anyway. */
const MAX_BUFFERED_BODY_BYTES = 64 * 1024 * 1024;

/** The answer with the whole body. The upstream server waits while the client's budget is used up. */
export function answerWithBody(
  response: HttpResponse,
  headers: readonly object[],
  { active, held }: { active: ActiveHttpRequest; held: Reservation },
): Promise<JsonText | JsonParts> {
  const before = `{"status":${response.status},"headers":${JSON.stringify(headers)},"bodyBase64":"`;
  const after = '"}';
  const answer = new Base64Answer();
  // The request itself is already reserved.
  const requestBytes = held.bytes;
  let bytes = 0;
  let waiting = false;
  let ended = false;
  return new Promise<JsonText | JsonParts>((resolve, reject) => {
    /** Pauses the upstream server until everything collected is admitted: one read delivers several pieces. */
    const admit = (): void => {
      if (waiting) return;
      const admitted = held.grow(requestBytes + answer.bytes);
      if (admitted === undefined) return;
      waiting = true;
      response.pause();
      admitted.then(goOn, (error: Error) => {
        active.abort();
        reject(error);
      });
    };
    const goOn = (): void => {
      waiting = false;
      admit();
      if (waiting) return;
      if (ended) resolve(answer.finish(before, after));
      else response.resume();
    };
    response.readBody({
      data: (piece) => {
        bytes += piece.length;
        if (bytes > MAX_BUFFERED_BODY_BYTES) {
          active.abort();
          return;
        }
        answer.push(piece);
        admit();
      },
      end: (failure) => {
        if (bytes > MAX_BUFFERED_BODY_BYTES)
          reject(bodyFailure(`it is larger than ${MAX_BUFFERED_BODY_BYTES} bytes; request a stream`));
        else if (failure !== undefined) reject(bodyFailure("error decoding response body", failure));
        else if (waiting) ended = true;
        else resolve(answer.finish(before, after));
      },
    });
  });
}

function bodyFailure(reason: string, cause?: Error): RpcError {
  return new RpcError(RpcCode.internal, `failed to read http/request response body: ${reason}`, { cause });
}

/** Sends one notification per piece, as fast as the client reads them; the upstream server waits meanwhile. */
export async function streamBody(
  client: ClientConnection,
  response: HttpResponse,
  active: ActiveHttpRequest,
): Promise<void> {
  const mustWait = (): boolean => client.full || active.released !== undefined;
  /** Resolves when the client has read what it was sent and wants more. */
  const wanted = async (): Promise<void> => {
    while (mustWait()) {
      await client.drained();
      await active.released;
    }
  };
  let seq = 0;
  let waiting = false;
  // Reads nothing before the client has room for it.
  if (mustWait()) await wanted();
  response.readBody({
    data: (bytes) => {
      for (let start = 0; start < bytes.length; start += MAX_DELTA_BYTES) {
        seq += 1;
        client.peer.sendBodyDelta(active.id, seq, bytes.subarray(start, start + MAX_DELTA_BYTES));
      }
      if (waiting || !mustWait()) return;
      waiting = true;
      response.pause();
      void wanted().then(() => {
        waiting = false;
        response.resume();
      });
    },
    end: (failure) => {
      const reason = active.cancelled ? "cancelled" : "error decoding response body";
      client.notify("http/request/bodyDelta", {
        requestId: active.id,
        seq: seq + 1,
        deltaBase64: "",
        done: true,
        error: failure === undefined ? null : reason,
      });
      active.end();
    },
  });
}
