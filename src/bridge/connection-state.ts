import {
  formatError,
  formatNotification,
  formatRequest,
  formatResponse,
  type IdText,
  type Message,
} from "../protocol/envelope.ts";
import type { Fields } from "./relayed-message.ts";
import type { UpstreamLink } from "./upstream-link.ts";

/** Maximum number of questions of a server that the client has not answered; the oldest is forgotten beyond it. */
const MAX_QUESTIONS = 1_024;
/** Maximum number of watches that are set up again; a server allows fewer. */
const MAX_WATCHES = 1_024;

/**
 * What ends with a connection, although the client does not see it end: streamed bodies, watches, and questions of the
 * server. `send` sends text to the client.
 */
export class ConnectionState {
  readonly #send: (text: string) => void;
  /** Number of the last piece, by request. */
  readonly #bodies = new Map<string, number>();
  /** Parameters of `fs/watch`, by id. */
  readonly #watches = new Map<string, Fields>();
  /** Id of the current `fs/watchMissing`. */
  #missingWatch: unknown;
  /** The server's id and its connection, by the id that the client sees. */
  readonly #questions = new Map<IdText, { readonly id: IdText; readonly link: UpstreamLink }>();
  #nextQuestion = 1;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  bodyExpected(requestId: string): void {
    this.#bodies.set(requestId, 0);
  }

  bodyRefused(requestId: string): void {
    this.#bodies.delete(requestId);
  }

  bodyPiece({ requestId, seq, done, error }: Fields): void {
    if (typeof requestId !== "string" || !this.#bodies.has(requestId)) return;
    if (done === true || typeof error === "string") this.#bodies.delete(requestId);
    else if (typeof seq === "number") this.#bodies.set(requestId, seq);
  }

  watched(params: Fields): void {
    const { watchId } = params;
    if (typeof watchId === "string" && this.#watches.size < MAX_WATCHES) this.#watches.set(watchId, params);
  }

  unwatched(watchId: unknown): void {
    if (typeof watchId === "string") this.#watches.delete(watchId);
  }

  watchesMissing(watchId: unknown): void {
    this.#missingWatch = watchId;
  }

  /** The next connection would reuse the server's id of a question, so the client sees a different id. */
  question(link: UpstreamLink, { id, method, params }: Extract<Message, { kind: "request" }>): void {
    const seen = String(this.#nextQuestion);
    this.#nextQuestion += 1;
    this.#questions.set(seen, { id, link });
    for (const oldest of this.#questions.keys())
      if (this.#questions.size > MAX_QUESTIONS) this.#questions.delete(oldest);
    this.#send(formatRequest(seen, method, params));
  }

  /** The client's answer. One that no server waits for any more is dropped. */
  answer(answer: Extract<Message, { kind: "response" | "error" }>): void {
    const question = this.#questions.get(answer.id);
    if (question === undefined) return;
    this.#questions.delete(answer.id);
    const { id, link } = question;
    link.sendText(
      answer.kind === "response"
        ? formatResponse(id, JSON.stringify(answer.result))
        : formatError(id, answer.error),
    );
  }

  /** The connection is lost. */
  lose(reason: string): void {
    this.#questions.clear();
    for (const [requestId, seq] of this.#bodies)
      this.#send(
        formatNotification("http/request/bodyDelta", {
          requestId,
          seq: seq + 1,
          deltaBase64: "",
          done: true,
          error: reason,
        }),
      );
    this.#bodies.clear();
  }

  /**
   * Renews watches on a new connection. Clients check what they watch again, because it may have changed in between.
   */
  renew(link: UpstreamLink): void {
    if (this.#missingWatch !== undefined)
      this.#send(formatNotification("fs/missingChanged", { watchId: this.#missingWatch }));
    this.#missingWatch = undefined;
    for (const [watchId, params] of this.#watches) {
      const send = (ended: boolean): void =>
        this.#send(formatNotification("fs/watch/changed", { watchId, paths: [], overflow: true, ended }));
      link.request("fs/watch", params).then(
        () => send(false),
        () => {
          // A lost connection is not an answer: the question is asked again on the next one.
          if (link.ended) return;
          this.#watches.delete(watchId);
          send(true);
        },
      );
    }
  }
}
