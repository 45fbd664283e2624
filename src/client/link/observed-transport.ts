import { joinBytes } from "../../base/join-bytes.ts";
import type { Transport, TransportEvents } from "../../transport/transport.ts";

/** Called with every message as text. */
export type OnMessage = (direction: "sent" | "received", text: string) => void;

/** The same transport, with an observer of its messages. */
export function observed(transport: Transport, onMessage: OnMessage): Transport {
  const sent = (message: string | Uint8Array): void =>
    onMessage("sent", typeof message === "string" ? message : new TextDecoder().decode(message));
  return new Proxy(transport, {
    get: (target, name) => {
      switch (name) {
        case "open":
          return (events: TransportEvents) => target.open(observing(events, onMessage));
        case "send":
        case "sendLazily":
          return (message: string | Uint8Array, flushed?: () => void) => {
            sent(message);
            target[name](message, flushed);
          };
        case "sendParts":
          return (parts: readonly Uint8Array[], flushed?: () => void) => {
            sent(joinBytes(parts));
            target.sendParts(parts, flushed);
          };
        default: {
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        }
      }
    },
  });
}

/** Without `longMessage`: a transport then delivers every message as text. */
function observing(events: TransportEvents, onMessage: OnMessage): TransportEvents {
  return {
    message: (text) => {
      onMessage("received", text);
      events.message(text);
    },
    ...(events.tooLong === undefined ? {} : { tooLong: () => events.tooLong?.() }),
    drain: () => events.drain(),
    close: (reason, code) => events.close(reason, code),
  };
}
