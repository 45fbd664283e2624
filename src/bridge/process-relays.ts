import { after } from "../base/duration.ts";
import { abortable } from "../base/deadlines.ts";
import { messageOf } from "../base/errors.ts";
import { isTransient } from "../client/calls/transient-errors.ts";
import { checkedResult } from "../client/calls/wire-check.ts";
import { formatError, formatResponse } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";
import type { ReadResult } from "../protocol/process.ts";
import type { ClientCall, ClientCalls } from "./client-calls.ts";
import { insertParam } from "./insert-param.ts";
import { ProcessRelay } from "./process-relay.ts";
import { type Fields, RelayedMessage } from "./relayed-message.ts";
import type { UpstreamLink } from "./upstream-link.ts";

/** Pause between two questions about a start that is not finished. */
const CONFIRM_PAUSE_MS = 50;
/** How often that is asked. */
const MAX_CONFIRMATIONS = 100;
/**
 * After so many times, the start is cancelled before it is made again: the real server can leave one whose connection is
 * lost in the middle for many seconds, as one that `is starting`.
 */
const MAX_PATIENCE = 40;
/** With it, a repeated start gets the answer of the first. */
const KEY = "idempotencyKey";

const START_REPORTS: ReadonlySet<string> = new Set(["process/started", "process/failed"]);

/** What the relays need from the bridge. */
interface RelaysOwner {
  /** Passes an event to the client; its memory is the receiver's. */
  toClient(message: RelayedMessage | string): void;
  /** The connection in use, if there is one. */
  link(): UpstreamLink | undefined;
  /** The client's requests. */
  readonly calls: ClientCalls;
  /** True if the server has this extension. */
  supports(extension: string): boolean;
}

/** The processes whose events the client gets. */
export class ProcessRelays {
  readonly #owner: RelaysOwner;
  readonly #relays = new Map<string, ProcessRelay>();

  constructor(owner: RelaysOwner) {
    this.#owner = owner;
  }

  /** What a request of the client about processes means for their events. */
  callOf(call: ClientCall, message: RelayedMessage): ClientCall {
    const { params } = message;
    const relay = this.#relayOf(params);
    switch (call.method) {
      case "process/start":
        return this.#startCall(call, message);
      case "process/attach":
        return this.#attachCall(call, params);
      case "process/detach":
        if (relay !== undefined) relay.detached = true;
        return call;
      case "process/flow":
        if (relay !== undefined) relay.paused = params["paused"] === true;
        return call;
      default:
        return call;
    }
  }

  #relayOf({ processId }: Fields): ProcessRelay | undefined {
    return typeof processId === "string" ? this.#relays.get(processId) : undefined;
  }

  /** A notification about a process. Those that are not numbered pass. */
  receive(message: RelayedMessage, method: string): void {
    const relay = this.#relayOf(message.params);
    const { seq, toSeq } = message.params;
    if (relay !== undefined && Number.isSafeInteger(seq)) {
      relay.receive(method, seq as number, message);
      return;
    }
    if (relay !== undefined && START_REPORTS.has(method)) {
      relay.receiveReport(method, message);
      return;
    }
    if (method === "process/gap" && Number.isSafeInteger(toSeq)) relay?.skipTo(toSeq as number);
    this.#owner.toClient(message);
  }

  /** The connection is lost. */
  hold(): void {
    for (const relay of this.#relays.values()) relay.hold();
  }

  /** Passes what was missed. Rejects if this connection is lost too. */
  async recover(link: UpstreamLink, signal: AbortSignal): Promise<void> {
    const relays = [...this.#relays.values()];
    const recovered = relays.map(async (relay) => {
      const { processId } = relay;
      if (relay.paused) this.#ask(link, "process/flow", { processId, paused: true });
      if (relay.detached) this.#ask(link, "process/detach", { processId });
      else if (relay.started) await this.#catchUp(relay, link);
    });
    await abortable(Promise.all(recovered), signal);
  }

  /** Ends the processes of the session. Those that are kept, or belong to another session, go on. */
  async terminateAll(link: UpstreamLink): Promise<void> {
    const own = [...this.#relays.values()].filter((relay) => !relay.kept);
    await Promise.allSettled(own.map(({ processId }) => link.request("process/terminate", { processId })));
  }

  #startCall(call: ClientCall, message: RelayedMessage): ClientCall {
    const params = message.wholeParams();
    const { processId, tty, keep } = params;
    // The server refuses an id that is in use.
    if (typeof processId !== "string" || this.#relays.has(processId)) return call;
    const relay = this.#open(processId, tty === true);
    relay.kept = keep !== undefined && keep !== null;
    const hasKey = Object.hasOwn(params, KEY) || !this.#owner.supports(`process/start.${KEY}`);
    return {
      ...call,
      message: hasKey ? message : RelayedMessage.ofText(insertParam(message.text, KEY, crypto.randomUUID())),
      failed: () => this.#relays.delete(processId),
      answered: (answer, sent) => this.#startAnswered(relay, answer, sent),
    };
  }

  #startAnswered(relay: ProcessRelay, { envelope }: RelayedMessage, call: ClientCall): "held" | undefined {
    const link = this.#owner.link();
    if (link === undefined) return undefined;
    if (envelope.kind === "response") {
      relay.started = true;
      if (!call.repeated) relay.release();
      else this.#catchUp(relay, link).catch(() => {}); // The connection is lost again, and the next one asks again.
    } else if (envelope.kind === "error" && call.repeated && isTaken(envelope.error.message, relay)) {
      void this.#confirmStart(relay, call, link);
      return "held";
    } else {
      this.#relays.delete(relay.processId);
    }
    return undefined;
  }

  /**
   * The id of a repeated start is in use: the first one was carried out, or still may be. The server knows the process
   * in the end, or its id is free again.
   */
  async #confirmStart(relay: ProcessRelay, call: ClientCall, link: UpstreamLink): Promise<void> {
    const { processId } = relay;
    try {
      await relay.catchUp((afterSeq) => read(link, processId, afterSeq));
      relay.started = true;
      this.#owner.calls.finish(call, formatResponse(call.id!, JSON.stringify({ processId })));
    } catch (error) {
      if (link.ended || isTransient(error)) return;
      relay.confirmations += 1;
      if (relay.confirmations === MAX_PATIENCE) this.#ask(link, "process/terminate", { processId });
      if (relay.confirmations < MAX_CONFIRMATIONS) {
        after(CONFIRM_PAUSE_MS, () => this.#owner.calls.again(call, link));
        return;
      }
      this.#relays.delete(processId);
      const message = `whether the process was started is not known: ${messageOf(error)}`;
      this.#owner.calls.finish(call, formatError(call.id!, { code: RpcCode.internal, message }));
    }
  }

  /** The events of a kept process, of one of another session, or of an own one from some number on. */
  #attachCall(call: ClientCall, params: Fields): ClientCall {
    const { name, fromSeq } = params;
    const processId = params["as"] ?? params["processId"] ?? name;
    if (typeof processId !== "string") return call;
    const known = this.#relays.get(processId);
    const relay = known ?? this.#open(processId, false);
    relay.detached = false;
    if (typeof fromSeq === "number") relay.startAt(fromSeq);
    if (known !== undefined) return call;
    relay.kept = true;
    const refused = (): boolean => this.#relays.delete(processId);
    return {
      ...call,
      failed: refused,
      answered: ({ envelope }) => {
        if (envelope.kind !== "response") {
          refused();
          return undefined;
        }
        const { nextSeq } = (envelope.result ?? {}) as Fields;
        if (typeof fromSeq !== "number" && typeof nextSeq === "number") relay.skipTo(nextSeq - 1);
        // An attachment to a kept process outlives its connection.
        if (typeof name !== "string") relay.attachment = params;
        relay.started = true;
        return undefined;
      },
    };
  }

  #open(processId: string, tty: boolean): ProcessRelay {
    const relay = new ProcessRelay(
      processId,
      { tty },
      {
        pass: (message) => this.#owner.toClient(message),
        finished: (ended) => {
          if (this.#relays.get(processId) === ended) this.#relays.delete(processId);
        },
      },
    );
    this.#relays.set(processId, relay);
    return relay;
  }

  /** Rejects only if the connection failed. A process that the server no longer knows is lost on its own. */
  async #catchUp(relay: ProcessRelay, link: UpstreamLink): Promise<void> {
    const { processId, attachment } = relay;
    try {
      if (attachment === undefined) {
        await relay.catchUp((afterSeq) => read(link, processId, afterSeq));
      } else {
        await link.request("process/attach", { ...attachment, fromSeq: relay.lastSeq + 1 });
        relay.release();
      }
    } catch (error) {
      if (link.ended || isTransient(error)) throw error;
      relay.fail(`failed to recover the process: ${messageOf(error)}`);
      if (attachment === undefined) this.#ask(link, "process/terminate", { processId });
    }
  }

  #ask(link: UpstreamLink, method: string, params: object): void {
    link.request(method, params).catch(() => {
      // The process has ended, or the connection has, and the next one is asked.
    });
  }
}

/** Everything that the server still has after a number. */
async function read(link: UpstreamLink, processId: string, afterSeq: number): Promise<ReadResult> {
  const params = { processId, afterSeq, maxBytes: null, waitMs: 0 };
  return checkedResult("process/read", await link.request("process/read", params));
}

/** The error of a start whose id is in use: a repeated start was carried out before. */
function isTaken(message: string, { processId }: ProcessRelay): boolean {
  return message.includes(processId) && message.includes("already exists");
}
