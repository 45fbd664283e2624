import { formatResponse, type Message } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";
import { type ClientCall, lostAnswerOf } from "./client-calls.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { ProcessRelays } from "./process-relays.ts";
import { type Fields, RelayedMessage } from "./relayed-message.ts";

/** Interprets the client's requests and their answers for the bridge. */
export class ClientRequests {
  readonly #state: ConnectionState;
  readonly #relays: ProcessRelays;
  /** Parameters of the client's `initialize`. */
  greeting: Fields = {};
  /** Undefined until there is a session; empty if the server has none to resume. */
  sessionId: string | undefined;
  #extensions: ReadonlySet<unknown> = new Set();

  constructor(state: ConnectionState, relays: ProcessRelays) {
    this.#state = state;
    this.#relays = relays;
  }

  /** True if the server has this extension. */
  supports(extension: string): boolean {
    return this.#extensions.has(extension);
  }

  /** A request on its way. */
  callOf(message: RelayedMessage, envelope: Extract<Message, { kind: "request" }>): ClientCall {
    const { id, method } = envelope;
    const call = { ...plainCall(message, method), id, fate: lostAnswerOf(method, envelope.params) };
    const { params } = message;
    switch (method) {
      case "initialize":
        return { ...call, answered: (answer) => this.#welcomed(message, answer) };
      case "fs/remove":
        return { ...call, answered: removed };
      case "http/request":
        return this.#bodyCall(call, params);
      case "fs/watch":
        return { ...call, answered: onSuccess(() => this.#state.watched(message.wholeParams())) };
      case "fs/unwatch":
        return { ...call, answered: onSuccess(() => this.#state.unwatched(params["watchId"])) };
      case "fs/watchMissing":
        return { ...call, answered: (answer) => this.#watchesMissing(params["watchId"], answer) };
      default:
        return method.startsWith("process/") ? this.#relays.callOf(call, message) : call;
    }
  }

  #welcomed(request: RelayedMessage, answer: RelayedMessage): undefined {
    const whole = answer.whole();
    if (whole.kind !== "response") return;
    const { sessionId, environmentInfo } = (whole.result ?? {}) as Fields;
    this.greeting = request.wholeParams();
    this.sessionId = typeof sessionId === "string" ? sessionId : "";
    this.learn(environmentInfo);
  }

  /** The server may have another version after a reconnection. */
  learn(environmentInfo: unknown): void {
    const { extensions } = (environmentInfo ?? {}) as Fields;
    if (Array.isArray(extensions)) this.#extensions = new Set(extensions);
  }

  #bodyCall(call: ClientCall, { requestId, streamResponse }: Fields): ClientCall {
    if (typeof requestId !== "string" || streamResponse !== true) return call;
    this.#state.bodyExpected(requestId);
    const refused = (): void => this.#state.bodyRefused(requestId);
    return {
      ...call,
      failed: refused,
      answered: ({ envelope }) => {
        if (envelope.kind === "error") refused();
        return undefined;
      },
    };
  }

  #watchesMissing(watchId: unknown, { envelope }: RelayedMessage): undefined {
    const { watching } = ((envelope.kind === "response" ? envelope.result : undefined) ?? {}) as Fields;
    if (watching === true) this.#state.watchesMissing(watchId);
  }
}

/** A message that is only forwarded. */
export function plainCall(message: RelayedMessage, method: string): Omit<ClientCall, "id"> {
  return { method, message, fate: "unknown", repeated: false, suddenEnds: 0 };
}

/** A repeated remove that finds nothing has removed it before. */
function removed({ envelope }: RelayedMessage, { id, repeated }: ClientCall): RelayedMessage | undefined {
  if (!repeated || envelope.kind !== "error" || envelope.error.code !== RpcCode.notFound) return undefined;
  return RelayedMessage.ofText(formatResponse(id!, "{}"));
}

function onSuccess(learn: () => void): NonNullable<ClientCall["answered"]> {
  return ({ envelope }) => {
    if (envelope.kind === "response") learn();
    return undefined;
  };
}
