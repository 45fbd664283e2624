import { randomUUID } from "node:crypto";
import { after, formatDuration } from "../base/duration.ts";
import { ConnectionError } from "../base/errors.ts";
import { HandshakeError, Initiator } from "../noise/handshake.ts";
import type { Kem } from "../noise/kem.ts";
import type { KeyPair, PublicKey } from "../noise/keys.ts";
import type { Transport } from "../transport/transport.ts";
import { Carrier } from "./carrier.ts";
import { dialRelay } from "./dial.ts";
import { type RelayFrame, writeFrame } from "./frame.ts";
import { Registry, type RegistryOptions } from "./registry.ts";
import { RelayStream } from "./relay-stream.ts";

export interface ReachOptions extends RegistryOptions {
  readonly kem: Kem;
  /** The key of this client. */
  readonly own: KeyPair;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Cancels asking the registry, and nothing after that. Default: `signal`. */
  readonly lookupSignal?: AbortSignal;
  /** Rejects for a key that is not that of the executor one wants to talk to. */
  readonly checkKey?: (key: PublicKey) => Promise<void>;
}

/** Opens an encrypted stream to an executor that has registered with a relay. */
export async function reachThroughRelay(options: ReachOptions): Promise<Transport> {
  const { kem, own, signal, environmentId, timeoutMs } = options;
  const connection = await new Registry(options).connect(own.publicKey, options.lookupSignal ?? signal);
  await options.checkKey?.(connection.executorKey);
  const streamId = randomUUID();
  const { registrationId } = connection;
  const initiator = secured(
    environmentId,
    () =>
      new Initiator(kem, {
        own,
        peer: connection.executorKey,
        binding: { environmentId, registrationId, streamId },
        payload: Buffer.from(connection.authorization),
      }),
  );
  const webSocket = await dialRelay(connection.url, options);
  return new Promise((resolve, reject) => {
    let stream: RelayStream | undefined;
    const end = (error: unknown, reason: string): void => {
      settle();
      carrier.destroy();
      reject(error);
      stream?.end(reason);
    };
    const fail = (reason: string): void =>
      end(new ConnectionError(`executor '${environmentId}': ${reason}`), reason);
    const carrier = new Carrier(webSocket, {
      frame: (frame) => {
        if (frame.streamId === streamId) receive(frame);
      },
      close: () => fail("the relay has closed the connection"),
    });
    const receive = (frame: RelayFrame): void => {
      if (frame.kind === "reset") fail("Noise relay stream reset");
      else if (frame.kind === "data" && stream !== undefined) stream.receive(frame.seq, frame.payload);
      else if (frame.kind === "ack") stream?.receiveAck(frame.count);
      else if (frame.kind === "handshake" && stream === undefined) open(frame.payload);
      else if (frame.kind === "data" || frame.kind === "handshake")
        fail("the relay stream violates the protocol");
    };
    const open = (response: Buffer): void => {
      try {
        stream = new RelayStream({
          streamId,
          carrier,
          ciphers: secured(environmentId, () => initiator.finish(response)),
          source: `relay JSON-RPC message from executor ${environmentId}`,
          congested: (isCongested) => (isCongested ? carrier.pause() : carrier.resume()),
          violated: () => carrier.destroy(),
          closed: () => carrier.close(),
        });
      } catch (error) {
        end(error, "the handshake failed");
        return;
      }
      settle();
      stream.offerAcks();
      resolve(stream);
    };
    const abort = (): void => end(signal.reason, "aborted");
    const cancel = after(timeoutMs, () => {
      const text = `the executor '${environmentId}' did not answer the handshake within ${formatDuration(timeoutMs)}`;
      end(new ConnectionError(text, { code: "TIMED_OUT" }), text);
    });
    const settle = (): void => {
      cancel();
      signal.removeEventListener("abort", abort);
    };
    signal.addEventListener("abort", abort, { once: true });
    carrier.send(writeFrame({ streamId, kind: "resume", nextSeq: 0 }));
    carrier.send(writeFrame({ streamId, kind: "handshake", payload: Buffer.from(initiator.request) }));
  });
}

/** What a relay or an executor sends may be wrong, or an attack: that is not a fault of this program. */
function secured<T>(environmentId: string, step: () => T): T {
  try {
    return step();
  } catch (cause) {
    if (!(cause instanceof HandshakeError)) throw cause;
    throw new ConnectionError(`no secure connection to the executor '${environmentId}': ${cause.message}`, {
      cause,
    });
  }
}
