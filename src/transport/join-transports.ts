import { HIGH_WATER_BYTES, type Transport } from "./transport.ts";

/** Passes on whole messages between two transports, in both directions. When either ends, so does the other. */
export function joinTransports(one: Transport, other: Transport): void {
  passOn(one, other);
  passOn(other, one);
}

function passOn(from: Transport, to: Transport): void {
  from.open({
    message: (text) => {
      // Empty messages exist in no protocol, and some carriers cannot carry them.
      if (text === "") {
        from.close();
        to.close();
        return;
      }
      to.send(text);
      if (to.queuedBytes >= HIGH_WATER_BYTES) from.pause();
    },
    drain: () => to.resume(),
    close: () => to.close(),
  });
}
