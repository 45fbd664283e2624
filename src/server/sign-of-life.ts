import type { Peer } from "./peer.ts";

/** How long a client may take to show that it is there. */
const PATIENCE_MS = 2_000;
const LOOK_MS = 50;

/**
 * Resolves with whether a client is there: it is asked, and whatever comes from it is an answer, and so is that it takes what was sent before. Where it cannot be
 * asked, it is there as long as it has not ended.
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
