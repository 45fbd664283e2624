import type { Peer } from "./peer.ts";

/** Time a client has to show that it is alive. */
const PATIENCE_MS = 2_000;
const LOOK_MS = 50;
/**
 * A look this long after the one before proves nothing: this machine stood still, and an answer may be waiting to be
 * read. On a machine that is always late, later looks count.
 */
const LATE_MS = 2 * LOOK_MS;
const MAX_LATE_LOOKS = 40;

/**
 * Resolves with whether a client is alive. It is pinged, and anything it sends counts, and so does progress in reading
 * what was sent before. A client that cannot be pinged is alive until it has ended.
 */
export function giveSignOfLife(peer: Peer): Promise<boolean> {
  if (peer.ended) return Promise.resolve(false);
  const { receivedBytes } = peer;
  if (receivedBytes === undefined || !peer.ping(() => {})) return Promise.resolve(true);
  let { queuedBytes } = peer;
  let lookedAt = performance.now();
  let lateLooks = 0;
  let leftMs = PATIENCE_MS;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const isTaking = peer.queuedBytes < queuedBytes;
      queuedBytes = peer.queuedBytes;
      const isAlive = peer.receivedBytes !== receivedBytes || isTaking;
      const passedMs = performance.now() - lookedAt;
      lookedAt += passedMs;
      if (passedMs > LATE_MS && lateLooks < MAX_LATE_LOOKS) lateLooks += 1;
      else leftMs -= passedMs;
      if (!isAlive && !peer.ended && leftMs > 0) return;
      clearInterval(timer);
      resolve(isAlive && !peer.ended);
    }, LOOK_MS).unref();
  });
}
