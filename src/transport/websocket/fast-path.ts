import type { WebSocket } from "ws";
import { FrameScanner, type Side } from "./frame-scanner.ts";
import { LONG_PAYLOAD_BYTES, LongPayload } from "./long-payload.ts";
import type { TakeBytes } from "./socket-reads.ts";

const MASK_BYTES = 4;

/** Callbacks and limits of the fast path. */
export interface FastPathOptions {
  readonly side: Side;
  /** Maximum length of a message. */
  readonly maxMessageBytes: number;
  /** May take messages from the start of a chunk; returns where the rest starts. */
  takeSmall?(chunk: Buffer): number;
  /** A message is longer than this server accepts. The library ends the connection after this. */
  messageTooLong?(): void;
  /** A frame is longer than the wire allows. Earlier data has been passed to the library. */
  frameTooLong?(): void;
}

/** The stream of the library that a socket's bytes are written to. */
interface Receiver {
  write(chunk: Buffer): boolean;
}

/**
 * Installs a shortcut in front of the library's frame parser: small messages are taken whole, long payloads are
 * collected and unmasked, and messages that are too long are reported while the connection can still send an answer.
 * Everything else, and every check, is left to the library. There is no public hook, so this relies on private fields
 * that a later version may lack. Without them it returns undefined, and the library parses everything: more slowly,
 * and with only its own limits. Otherwise it returns what takes the payload that is being collected, if there is one,
 * from the socket itself.
 */
export function installFastPath(webSocket: WebSocket, options: FastPathOptions): TakeBytes | undefined {
  const receiver = findReceiver(webSocket);
  if (receiver === undefined) return undefined;
  const toLibrary = receiver.write.bind(receiver);
  const maskBytes = options.side === "server" ? MASK_BYTES : 0;
  const scanner = new FrameScanner(options.side, options.maxMessageBytes);
  let payload: LongPayload | undefined;
  let refused = false;

  const receive = (chunk: Buffer): boolean => {
    if (!scanner.accepts(chunk)) return refuse(chunk);
    const start = scanner.payloadStart;
    if (start === undefined || scanner.payloadLeft < LONG_PAYLOAD_BYTES) return toLibrary(chunk);
    const maskAt = start - maskBytes;
    const mask = maskBytes === 0 ? 0 : chunk.readInt32LE(maskAt);
    payload = new LongPayload(scanner.payloadLeft + chunk.length - start, mask);
    scanner.skipPayload();
    // The library gets the payload unmasked, and a mask of zeros.
    chunk.fill(0, maskAt, start);
    toLibrary(chunk.subarray(0, start));
    payload.fill(chunk.subarray(start));
    return true;
  };

  const takePayload = (chunk: Buffer): number => {
    if (payload === undefined) return 0;
    const taken = payload.fill(chunk);
    const whole = payload.finished();
    if (whole === undefined) return taken;
    payload = undefined;
    // It has been processed on return, even if the library asks for a pause because of its length.
    toLibrary(whole);
    return taken;
  };

  const refuse = (chunk: Buffer): boolean => {
    refused = true;
    // Once the library has seen it, nothing more can be sent.
    if (scanner.messageTooLong) options.messageTooLong?.();
    const wantsMore = toLibrary(chunk);
    if (!scanner.messageTooLong) options.frameTooLong?.();
    return wantsMore;
  };

  receiver.write = (chunk) => {
    if (payload !== undefined) {
      const end = takePayload(chunk);
      // Not treated as small messages: the library may have found a fault in what it just received.
      return end === chunk.length || receive(chunk.subarray(end));
    }
    if (refused) return toLibrary(chunk);
    const taken = scanner.isBetweenMessages ? (options.takeSmall?.(chunk) ?? 0) : 0;
    if (taken === chunk.length) return true;
    return receive(taken === 0 ? chunk : chunk.subarray(taken));
  };
  return takePayload;
}

/**
 * Undefined unless the library works as this relies on: frames go to `_receiver.write`, nothing is compressed, and
 * messages are emitted before it returns.
 */
function findReceiver(webSocket: WebSocket): Receiver | undefined {
  const { _receiver: receiver } = webSocket as unknown as { _receiver?: Partial<Record<string, unknown>> };
  const isKnown =
    typeof receiver?.["write"] === "function" &&
    receiver["_allowSynchronousEvents"] === true &&
    receiver["writableLength"] === 0 &&
    webSocket.extensions === "";
  return isKnown ? (receiver as unknown as Receiver) : undefined;
}
