import type { Peer } from "./peer.ts";

/** Time a client has to show that it is alive. */
const PATIENCE_MS = 2_000;
const LOOK_MS = 50;

/**
 * Resolves with whether a client is alive. It is pinged, and anything it sends counts, and so does progress in reading
 * what was sent before. A client that cannot be pinged is alive until it has ended.
 */
export function giveSignOfLife(peer: Peer): Promise<boolean> {
  if (peer.ended) return Promise.resolve(false);
  const { receivedBytes } = peer;
  if (receivedBytes === undefined || !peer.ping(() => {})) return Promise.resolve(true);
  let { queuedBytes } = peer;
  const deadline = performance.now() + PATIENCE_MS;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const isTaking = peer.queuedBytes < queuedBytes;
      queuedBytes = peer.queuedBytes;
      const isAlive = peer.receivedBytes !== receivedBytes || isTaking;
      if (!isAlive && !peer.ended && performance.now() < deadline) return;
      clearInterval(timer);
      resolve(isAlive && !peer.ended);
    }, LOOK_MS).unref();
  });
}
