import { encodeBase64 } from "../../base/base64.ts";
import { copyJson } from "../../base/copy-json.ts";
import { abortable } from "../../base/deadlines.ts";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { disconnected, RpcError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { fromWire } from "../../rpc/error-wire.ts";
import { Fifo } from "../../base/fifo.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { IdText, WireError } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { JsonText, JsonParts } from "../../rpc/json-text.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";
import { SendQueue } from "../../transport/send-queue.ts";
import { eventNotification } from "./event-message.ts";
import type { Peer, PeerHooks } from "./peer.ts";

/** Cost of a queued message besides its content, so that a queue of empty messages is bounded too. */
const MESSAGE_BYTES = 64;

/**
 * A client in the server's own program. Messages pass as values: each is copied and arrives asynchronously, in order.
 * Messages for the client count as unsent bytes until it takes them, so that the server waits for a paused client as it
 * does for a full socket.
 */
export class LocalLink implements Link {
  readonly #events: LinkEvents;
  readonly #toServer = new Mailbox(() => {});
  readonly #toClient = new Mailbox(() => this.#hooks?.drain());
  readonly #pending = new Map<IdText, Deferred<unknown>>();
  /** Requests of the server that the client has not answered. */
  readonly #asked = new Set<Deferred<unknown>>();
  #hooks: PeerHooks | undefined;
  #nextId = 1;
  /** The client has closed and may send no more. */
  #closing = false;
  /** The server has seen the end. */
  #ended = false;
  #endReason: string | undefined;
  #endTold = false;

  constructor(events: LinkEvents) {
    this.#events = events;
  }

  /** The server's side. */
  serve(hooks: PeerHooks): Peer {
    this.#hooks = hooks;
    const ended = (): boolean => this.#ended;
    const queuedBytes = (): number => this.#toClient.bytes;
    return {
      get ended() {
        return ended();
      },
      get queuedBytes() {
        return queuedBytes();
      },
      receivedBytes: undefined,
      sentBytes: undefined,
      ping: () => false,
      open: () => this.#toServer.resume(),
      respond: (id, result) => this.#respond(id, result),
      fail: (id, error) => this.#fail(id, error),
      notify: (method, params) => this.#tell(method, params),
      request: (method, params, signal) => this.#ask(method, params, signal),
      eventSender: (processId) => (event) => this.#tellEvent(processId, event),
      sendBodyDelta: (requestId, seq, bytes) => {
        const deltaBase64 = encodeBase64(bytes);
        this.#tell("http/request/bodyDelta", { requestId, seq, deltaBase64, done: false, error: null });
      },
      pause: () => this.#toServer.pause(),
      resume: () => this.#toServer.resume(),
      close: () => this.#end(undefined),
      destroy: (reason) => {
        this.#toClient.clear();
        this.#end(reason);
      },
    };
  }

  request(method: string, params: unknown): Promise<unknown> {
    if (this.#closing || this.#ended) return Promise.reject(disconnected(this.#endReason));
    const id = String(this.#nextId);
    this.#nextId += 1;
    const { value, bytes } = copyJson(params ?? null);
    const answer = createDeferred<unknown>();
    this.#pending.set(id, answer);
    this.#toServer.push(bytes, () => this.#hooks?.request({ id, method, params: value }, bytes));
    return answer.promise;
  }

  notify(method: string, params: unknown): void {
    if (this.#closing || this.#ended) return;
    const { value, bytes } = copyJson(params ?? null);
    this.#toServer.push(bytes, () => this.#hooks?.notification(method, value));
  }

  pause(): void {
    if (!this.#closing) this.#toClient.pause();
  }

  resume(): void {
    this.#toClient.resume();
  }

  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#toServer.push(0, () => this.#end(undefined));
    // A closing client still wants the end, which comes after everything queued.
    this.#toClient.resume();
  }

  destroy(reason?: string): void {
    this.#closing = true;
    this.#toClient.clear();
    this.#toClient.resume();
    // The server may have ended already, and clearing may have reported it.
    if (this.#ended) this.#tellEnd();
    else this.#end(reason);
  }

  #end(reason: string | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason = reason;
    this.#toServer.clear();
    for (const answer of this.#asked) answer.reject(disconnected(reason));
    this.#hooks?.closed(reason);
    this.#tellEnd();
  }

  #tellEnd(): void {
    this.#toClient.push(0, () => {
      if (this.#endTold) return;
      this.#endTold = true;
      for (const answer of this.#pending.values()) answer.reject(disconnected(this.#endReason));
      this.#pending.clear();
      this.#events.closed(this.#endReason);
    });
  }

  #respond(id: IdText, result: unknown): void {
    if (this.#ended) return;
    const { bytes, open } = seal(result);
    this.#toClient.push(bytes, () => {
      const answer = this.#take(id);
      try {
        answer?.resolve(open());
      } catch (cause) {
        // It comes from a file helper as it is.
        answer?.reject(new RpcError(RpcCode.internal, "the answer is not JSON", { cause }));
      }
    });
  }

  #fail(id: IdText, { code, message, data }: WireError): void {
    if (this.#ended) return;
    const copied = copyJson(data);
    this.#toClient.push(copied.bytes + message.length, () =>
      this.#take(id)?.reject(fromWire({ code, message, data: copied.value })),
    );
  }

  #tell(method: string, params: unknown): void {
    if (this.#ended) return;
    const { value, bytes } = copyJson(params);
    this.#toClient.push(bytes, () => this.#events.notification(method, value));
  }

  /** A request of the server. Its answer goes the way of the client's messages. */
  #ask(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    if (this.#ended) return Promise.reject(disconnected(this.#endReason));
    const { value, bytes } = copyJson(params);
    const answer = createDeferred<unknown>();
    this.#asked.add(answer);
    this.#toClient.push(bytes, () => {
      const answered = this.#events.request?.(method, value) ?? Promise.reject(notServed(method));
      answered.then(
        (result) => {
          const copied = copyJson(result);
          this.#toServer.push(copied.bytes, () => answer.resolve(copied.value));
        },
        (error: unknown) => this.#toServer.push(0, () => answer.reject(error)),
      );
    });
    return abortable(answer.promise, signal).finally(() => this.#asked.delete(answer));
  }

  #tellEvent(processId: string, event: ProcessEvent): void {
    const { method, params } = eventNotification(processId, event);
    this.#tell(method, params);
  }

  #take(id: IdText): Deferred<unknown> | undefined {
    const answer = this.#pending.get(id);
    this.#pending.delete(id);
    return answer;
  }
}

function notServed(method: string): RpcError {
  return new RpcError(RpcCode.methodNotFound, `this client does not serve ${shorten(method)}`);
}

/** A queued answer and how to turn it into a value: JSON text is parsed only when needed. */
function seal(result: unknown): { bytes: number; open: () => unknown } {
  if (result instanceof JsonText)
    return { bytes: result.text.length, open: () => JSON.parse(result.text) as unknown };
  if (result instanceof JsonParts) {
    const { parts } = result;
    const bytes = parts.reduce((total, part) => total + part.length, 0);
    const open = (): unknown => {
      const text = Buffer.concat(parts).toString();
      result.release?.();
      return JSON.parse(text) as unknown;
    };
    return { bytes, open };
  }
  const { value, bytes } = copyJson(result);
  return { bytes, open: () => value };
}

/** One direction: deliveries made one after another, asynchronously. */
class Mailbox {
  readonly #deliveries = new Fifo<{ bytes: number; deliver: () => void }>();
  readonly #queue: SendQueue;
  #paused = false;
  #scheduled = false;

  constructor(onDrain: () => void) {
    this.#queue = new SendQueue(onDrain);
  }

  get bytes(): number {
    return this.#queue.bytes;
  }

  push(contentBytes: number, deliver: () => void): void {
    const bytes = contentBytes + MESSAGE_BYTES;
    this.#queue.add(bytes);
    this.#deliveries.push({ bytes, deliver });
    this.#schedule();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  clear(): void {
    this.#deliveries.clear();
  }

  #schedule(): void {
    if (this.#scheduled || this.#paused) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    while (!this.#paused) {
      const next = this.#deliveries.shift();
      if (next === undefined) return;
      this.#queue.remove(next.bytes);
      next.deliver();
    }
  }
}
