import { HIGH_WATER_BYTES, type Transport } from "../../../transport/transport.ts";

/** Passes messages between two transports until one of them ends. Each side waits for the other. */
export function carryMessages(front: Transport, back: Transport): void {
  carry(front, back);
  carry(back, front);
}

function carry(from: Transport, to: Transport): void {
  from.open({
    message: (text) => {
      to.send(text);
      if (to.queuedBytes >= HIGH_WATER_BYTES) from.pause();
    },
    drain: () => to.resume(),
    close: (reason) => (reason === undefined ? to.close() : to.destroy(reason)),
  });
}
