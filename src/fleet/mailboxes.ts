import { randomBytes } from "node:crypto";
import type { Bus, BusMessage } from "./bus.ts";
import { abortFrame } from "./frames.ts";

/** Such a name cannot be guessed, which is all that protects a connection from others who may publish to its peer. */
const TOKEN_BYTES = 16;

/** An address at which a connection receives. */
export interface Mailbox {
  readonly subject: string;
  remove(): void;
}

/** All the places of a program at one bus, below one subject: a single subscription serves every connection. */
export class Mailboxes {
  readonly #bus: Bus;
  readonly #prefix: string;
  /** The subject of the subscription. */
  readonly subject: string;
  readonly #receivers = new Map<string, (message: BusMessage) => void>();
  readonly #unsubscribe: () => void;

  /** `mayAnswer` decides whether a subject may be notified that a connection is gone. */
  constructor(bus: Bus, prefix: string, mayAnswer: (subject: string) => boolean) {
    this.#bus = bus;
    this.#prefix = prefix;
    this.subject = `${prefix}.*`;
    this.#unsubscribe = bus.subscribe(this.subject, (message) => {
      const receive = this.#receivers.get(message.subject.slice(prefix.length + 1));
      if (receive !== undefined) receive(message);
      else if (message.reply !== undefined && !message.isUndeliverable && mayAnswer(message.reply))
        this.#bus.publish(message.reply, abortFrame("the other end has forgotten this connection"));
    });
  }

  add(receive: (message: BusMessage) => void): Mailbox {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#receivers.set(token, receive);
    return { subject: `${this.#prefix}.${token}`, remove: () => void this.#receivers.delete(token) };
  }

  close(): void {
    this.#unsubscribe();
    this.#receivers.clear();
  }
}
