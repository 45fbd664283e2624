import { Socket } from "node:net";
import { deserialize } from "node:v8";
import { takeDescriptor } from "../../native/descriptor-passing.ts";
import { readFrames, writeFrame } from "../wire/frames.ts";
import type { FromUserServer, ToUserServer } from "./messages.ts";
import { MAX_USER_MESSAGE_BYTES } from "./read-user-message.ts";

/** Set up by the parent; see `UserChannel`. */
const MESSAGES_FD = 3;
const HANDOVER_FD = 4;

export interface ParentChannelEvents {
  message(message: ToUserServer, socket: Socket | undefined): void;
  /** The parent is gone. */
  lost(): void;
}

/** The channel of a user's server to the server that started it. */
export class ParentChannel {
  readonly #socket = new Socket({ fd: MESSAGES_FD });

  open(events: ParentChannelEvents): void {
    readFrames(this.#socket, {
      frame: ({ bytes }) => {
        const message = deserialize(Buffer.concat(bytes)) as ToUserServer;
        if (message.kind === "connect") {
          const fd = takeDescriptor(HANDOVER_FD);
          this.send({ kind: "taken" });
          events.message(message, new Socket({ fd }));
        } else events.message(message, undefined);
        return undefined;
      },
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => events.lost());
  }

  /** `sent` is called when it is on its way. Messages are sent in order. */
  send(message: FromUserServer, sent: () => void = () => {}): void {
    if (!this.#socket.writable) {
      sent();
      return;
    }
    for (const text of texts(message)) writeFrame(this.#socket, "message", { text });
    this.#socket.write("", sent);
  }
}

/**
 * Splits reports over as many messages as needed; a single one that is too long, such as one with long arguments, is
 * left out.
 */
function texts(message: FromUserServer): string[] {
  if (message.kind !== "reports") return [JSON.stringify(message)];
  const parts = message.reports.map((report) => JSON.stringify(report));
  const messages: string[] = [];
  const maxBytes = MAX_USER_MESSAGE_BYTES / 2;
  for (let from = 0; from < parts.length; ) {
    let to = from;
    for (let bytes = 0; to < parts.length; to += 1) {
      bytes += Buffer.byteLength(parts[to]!);
      if (bytes > maxBytes) break;
    }
    if (to > from) messages.push(`{"kind":"reports","reports":[${parts.slice(from, to).join(",")}]}`);
    // Skips the one that did not fit even alone.
    from = to > from ? to : to + 1;
  }
  return messages;
}
