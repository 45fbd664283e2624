import type { Peer } from "./peer.ts";

/** Time a client has to show that it is alive. */
const PATIENCE_MS = 2_000;
const CHECK_MS = 50;
/**
 * A check this long after the previous one proves nothing: this machine stood still, and an answer may be waiting to be
 * read. On a machine that is always late, later checks count.
 */
const LATE_MS = 2 * CHECK_MS;
const MAX_LATE_CHECKS = 40;

/**
 * Resolves with whether a client is alive. It is pinged, and anything it sends counts, and so does progress in reading
 * earlier data. A client that cannot be pinged is alive until it has ended.
 */
export function giveSignOfLife(peer: Peer): Promise<boolean> {
  if (peer.ended) return Promise.resolve(false);
  const { receivedBytes } = peer;
  if (receivedBytes === undefined || !peer.ping(() => {})) return Promise.resolve(true);
  let { queuedBytes } = peer;
  let checkedAt = performance.now();
  let lateChecks = 0;
  let leftMs = PATIENCE_MS;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const isTaking = peer.queuedBytes < queuedBytes;
      queuedBytes = peer.queuedBytes;
      const isAlive = peer.receivedBytes !== receivedBytes || isTaking;
      const passedMs = performance.now() - checkedAt;
      checkedAt += passedMs;
      if (passedMs > LATE_MS && lateChecks < MAX_LATE_CHECKS) lateChecks += 1;
      else leftMs -= passedMs;
      if (!isAlive && !peer.ended && leftMs > 0) return;
      clearInterval(timer);
      resolve(isAlive && !peer.ended);
    }, CHECK_MS).unref();
  });
}
