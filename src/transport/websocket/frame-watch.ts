import type { WebSocket } from "ws";
import { FrameLimit } from "./frame-limit.ts";
import type { Receiver } from "./long-frames.ts";

/** What becomes of the bytes that a socket gives to the WebSocket library. */
export interface FrameWatcher {
  readonly maxMessageBytes: number;
  /** May take messages from the beginning of a chunk; returns where the rest begins. */
  takeSmall(chunk: Buffer): number;
  /** A message is longer than this server takes. The library ends the connection after this. */
  messageTooLong(): void;
  /** A frame is longer than the wire allows. What came before it has been given to the library. */
  frameTooLong(): void;
}

/** The part of the library that frames are written to. It is not public, but there is no public way in between. */
export function receiverOf(webSocket: WebSocket): Receiver {
  return (webSocket as unknown as { _receiver: Receiver })._receiver;
}

export function watchFrames(webSocket: WebSocket, watcher: FrameWatcher): void {
  watchReceiver(receiverOf(webSocket), watcher);
}

export function watchReceiver(receiver: Receiver, watcher: FrameWatcher): void {
  const write = receiver.write.bind(receiver);
  const limit = new FrameLimit(watcher.maxMessageBytes);
  let refused = false;
  receiver.write = (chunk) => {
    const taken = limit.isBetweenMessages ? watcher.takeSmall(chunk) : 0;
    if (taken === chunk.length) return true;
    const rest = taken === 0 ? chunk : chunk.subarray(taken);
    if (refused || limit.accepts(rest)) return write(rest);
    refused = true;
    // Nothing can be said any more once the library has seen it.
    if (limit.messageTooLong) watcher.messageTooLong();
    const wantsMore = write(rest);
    if (!limit.messageTooLong) watcher.frameTooLong();
    return wantsMore;
  };
}
