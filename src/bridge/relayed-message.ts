import { type Message, MalformedMessageError, parseMessage } from "../protocol/envelope.ts";
import { MAX_SENT_FRAME_BYTES } from "../protocol/wire-limits.ts";
import type { LongMessage, Transport } from "../transport/transport.ts";

/** Members of an object of the wire, which is not checked. */
export type Fields = Readonly<Record<string, unknown>>;

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/** Line breaks between the values of a message. */
const LINE_BREAKS = /[\r\n]/g;
const encoder = new TextEncoder();

/**
 * A message on its way through the bridge: it is sent on exactly as it came. Its envelope was parsed; the one long
 * string of a long message stays bytes, and is empty in the envelope.
 */
export class RelayedMessage {
  readonly envelope: Message;
  readonly #carried: string | LongMessage;

  private constructor(envelope: Message, carried: string | LongMessage) {
    this.envelope = envelope;
    this.#carried = carried;
  }

  /** Throws a MalformedMessageError. */
  static ofText(text: string): RelayedMessage {
    return new RelayedMessage(parseMessage(text), text);
  }

  /** Throws a MalformedMessageError. */
  static ofLong(long: LongMessage): RelayedMessage {
    const { head, tail, value } = long;
    if (value.includes(NEWLINE) || value.includes(CARRIAGE_RETURN))
      throw new MalformedMessageError("control character in a string");
    return new RelayedMessage(parseMessage(`${head}""${tail}`), long);
  }

  get size(): number {
    if (typeof this.#carried === "string") return this.#carried.length;
    const { head, value, tail } = this.#carried;
    return head.length + value.length + tail.length + 2;
  }

  /** The whole message as text. */
  get text(): string {
    return typeof this.#carried === "string" ? this.#carried : this.#carried.text();
  }

  /** The envelope with the long string, if there is one. Throws a MalformedMessageError. */
  whole(): Message {
    return typeof this.#carried === "string" ? this.envelope : parseMessage(this.#carried.text());
  }

  /** Parameters of a request or a notification, without the long string; empty if there are none. */
  get params(): Fields {
    return paramsOf(this.envelope);
  }

  /** The same with the long string. Throws a MalformedMessageError. */
  wholeParams(): Fields {
    return paramsOf(this.whole());
  }

  /** Sends it as one line: line breaks can only be blanks between values. */
  sendTo(transport: Transport, flushed?: () => void): void {
    if (typeof this.#carried === "string") {
      transport.send(oneLine(this.#carried), flushed);
      return;
    }
    const { head, value, tail } = this.#carried;
    const parts: Uint8Array[] = [encoder.encode(`${oneLine(head)}"`)];
    for (let start = 0; start < value.length; start += MAX_SENT_FRAME_BYTES)
      parts.push(value.subarray(start, start + MAX_SENT_FRAME_BYTES));
    parts.push(encoder.encode(`"${oneLine(tail)}`));
    transport.sendParts(parts, flushed);
  }

  /** Returns its memory for reuse. It must not be used afterwards. */
  release(): void {
    if (typeof this.#carried !== "string") this.#carried.release();
  }
}

function paramsOf(message: Message): Fields {
  return (("params" in message ? message.params : undefined) ?? {}) as Fields;
}

function oneLine(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replace(LINE_BREAKS, " ") : text;
}
