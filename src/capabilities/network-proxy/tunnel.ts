import type { Socket } from "node:net";
import type { Transform } from "node:stream";

/** Time without a byte in either direction after which a tunnel or an exchange ends. */
export const IDLE_TIMEOUT_MS = 60 * 60_000;

/**
 * Passes bytes both ways until both sides have ended. Each direction ends on its own, with back-pressure; an error or
 * silence ends both. What comes in goes through `incoming` first.
 */
export function tunnel(inner: Socket, outer: Socket, incoming?: Transform): void {
  const end = (): void => {
    inner.destroy();
    outer.destroy();
  };
  for (const [socket, other] of [
    [inner, outer],
    [outer, inner],
  ] as const) {
    socket.setTimeout(IDLE_TIMEOUT_MS, end);
    socket.on("error", end);
    // If this side ended properly, the other one still delivers its pending data.
    socket.on("close", () => {
      if (!socket.readableEnded || !socket.writableFinished) other.destroy();
    });
    if (socket.destroyed) end();
  }
  inner.pipe(outer);
  if (incoming === undefined) outer.pipe(inner);
  else {
    incoming.on("error", end);
    outer.pipe(incoming).pipe(inner);
  }
}
