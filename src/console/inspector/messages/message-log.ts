import { type ReadonlySignal, signal } from "@preact/signals";
import { listenToMessages, type PassedMessage } from "../../connection/message-tap.ts";
import { hideSecrets } from "./hide-secrets.ts";
import { type Envelope, readEnvelope, ownText } from "./read-envelope.ts";

export interface LoggedMessage extends Envelope {
  /** Counts the messages since the page was opened. */
  readonly number: number;
  readonly direction: PassedMessage["direction"];
  readonly atMs: number;
  readonly size: number;
  /** Its text without secrets, possibly truncated. */
  readonly text: string;
  readonly isCut: boolean;
  /** The answer of a request, or the request of an answer. */
  peer?: LoggedMessage;
  /** Time from a request to its answer. */
  tookMs?: number;
}

/** The character limit covers all texts together. */
const BOUNDS = { messages: 5000, characters: 16 * 1024 * 1024 };
/** The least time between two updates of the view. */
const PAUSE_MS = 150;
const KEPT_CHARACTERS = 64 * 1024;
/** Limit for a notification, which is usually output. */
const KEPT_OF_NOTIFICATION = 2048;

/** The latest messages of the connection, each request with its answer. */
export class MessageLog {
  readonly #bounds: typeof BOUNDS;
  readonly #news = signal(0);
  readonly #isOn = signal(false);
  /** Changes when there is something new: at once, but a few times in a second at most. */
  readonly news: ReadonlySignal<number> = this.#news;
  readonly isOn: ReadonlySignal<boolean> = this.#isOn;
  /** Requests that are not answered, by direction and id. */
  readonly #open = new Map<string, { readonly message: LoggedMessage; readonly sinceMs: number }>();
  #messages: LoggedMessage[] = [];
  #characters = 0;
  #last = 0;
  #stop: (() => void) | undefined;
  #isNotified = false;
  #notifiedMs = Number.NEGATIVE_INFINITY;

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** The oldest first. */
  get messages(): readonly LoggedMessage[] {
    return this.#messages;
  }

  start(): void {
    this.#stop ??= listenToMessages((passed) => this.add(passed, performance.now()));
    this.#isOn.value = true;
  }

  pause(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#open.clear();
    this.#isOn.value = false;
  }

  clear(): void {
    this.#messages = [];
    this.#characters = 0;
    this.#open.clear();
    this.#notify();
  }

  add({ direction, text, atMs }: PassedMessage, nowMs: number): void {
    const envelope = readEnvelope(text);
    const request = this.#requestOf(direction, envelope);
    const method = envelope.method ?? request?.message.method;
    const most = envelope.kind === "notification" ? KEPT_OF_NOTIFICATION : KEPT_CHARACTERS;
    const isCut = text.length > most;
    this.#last++;
    const message: LoggedMessage = {
      ...envelope,
      ...(method === undefined ? {} : { method }),
      number: this.#last,
      direction,
      atMs,
      size: text.length,
      text: hideSecrets(isCut ? ownText(text.slice(0, most)) : text, method),
      isCut,
    };
    if (envelope.kind === "request")
      this.#open.set(`${direction} ${envelope.id}`, { message, sinceMs: nowMs });
    if (request !== undefined) {
      message.peer = request.message;
      request.message.peer = message;
      message.tookMs = nowMs - request.sinceMs;
      request.message.tookMs = message.tookMs;
    }
    this.#messages.push(message);
    this.#characters += message.text.length;
    this.#dropOld();
    this.#notify();
  }

  #requestOf(direction: PassedMessage["direction"], { kind, id }: Envelope) {
    if (kind !== "answer" && kind !== "error") return undefined;
    const key = `${direction === "sent" ? "received" : "sent"} ${id}`;
    const request = this.#open.get(key);
    this.#open.delete(key);
    return request;
  }

  #dropOld(): void {
    const { messages, characters } = this.#bounds;
    let drop = 0;
    while (this.#messages.length - drop > messages || this.#characters > characters) {
      const dropped = this.#messages[drop];
      if (dropped === undefined) break;
      this.#characters -= dropped.text.length;
      if (dropped.peer !== undefined) delete dropped.peer.peer;
      else if (dropped.kind === "request") this.#open.delete(`${dropped.direction} ${dropped.id}`);
      drop++;
    }
    if (drop > 0) this.#messages.splice(0, drop);
  }

  #notify(): void {
    if (this.#isNotified) return;
    this.#isNotified = true;
    const notify = (): void => {
      this.#isNotified = false;
      this.#notifiedMs = performance.now();
      this.#news.value++;
    };
    // Drawing more often than people can read only slows down the messages themselves.
    const pauseMs = this.#notifiedMs + PAUSE_MS - performance.now();
    if (pauseMs <= 0) requestAnimationFrame(notify);
    else setTimeout(() => requestAnimationFrame(notify), pauseMs);
  }
}

/** The log of the page, from the first look at the inspector on. */
export const messageLog = new MessageLog();
