import { anySignal, pause } from "../base/deadlines.ts";
import { ConnectionError } from "../base/errors.ts";
import { loadKem } from "../noise/kem.ts";
import { fingerprint, KeyPair, type PublicKey } from "../noise/keys.ts";
import type { Transport } from "../transport/transport.ts";
import type { ClientTlsMaterial } from "../transport/websocket/connect-websocket.ts";
import { reachThroughRelay } from "./harness.ts";
import { loadIdentity } from "./identity.ts";
import { isOffline } from "./registry.ts";

/** How long the first connection waits for an executor that is offline, and how often it looks. */
const OFFLINE_PATIENCE_MS = 9_000;
const OFFLINE_POLL_MS = 500;

export interface RelayReach {
  readonly relay: string;
  readonly environmentId: string;
  /** Fingerprint of the key that the executor must have, or what throws for a wrong one. */
  readonly executorKey?: string | ((fingerprint: string) => void | Promise<void>);
  /** File with the key of this client. */
  readonly identity?: string;
  readonly token?: string;
  readonly timeoutMs: number;
  readonly tls?: ClientTlsMaterial;
}

/**
 * Opens streams to one executor behind a relay, with one key for all of them. `since` is when the caller's timeout began,
 * in the time of `performance`.
 */
export async function relayReach(
  options: RelayReach,
): Promise<(signal: AbortSignal, since?: number) => Promise<Transport>> {
  const { relay, environmentId, executorKey, identity, token, ...rest } = options;
  const kem = await loadKem();
  const own = new KeyPair(kem, identity === undefined ? undefined : loadIdentity(identity));
  const checkKey = async (key: PublicKey): Promise<void> => {
    const shown = fingerprint(key);
    if (typeof executorKey === "function") await executorKey(shown);
    else if (executorKey !== undefined && executorKey !== "any" && shown !== executorKey)
      throw new ConnectionError(
        `the relay names an executor '${environmentId}' with the key ${shown}, not ${executorKey}`,
      );
  };
  let hasConnected = false;
  const open = (signal: AbortSignal, lookupSignal: AbortSignal): Promise<Transport> =>
    reachThroughRelay({
      ...rest,
      base: relay,
      environmentId,
      bearer: () => token,
      kem,
      own,
      signal,
      lookupSignal,
      checkKey,
    });
  return async (signal, since = performance.now()) => {
    const until = since + patience(options.timeoutMs);
    let lookupSignal = signal;
    for (;;) {
      let offline: unknown;
      try {
        const transport = await open(signal, lookupSignal);
        hasConnected = true;
        return transport;
      } catch (error) {
        const isLate = lookupSignal.aborted && error === lookupSignal.reason && !signal.aborted;
        // Later, the session decides how long to try.
        if (hasConnected || !(isLate || isOffline(error))) throw error;
        offline = error;
      }
      const leftMs = until - performance.now();
      if (leftMs <= OFFLINE_POLL_MS)
        throw new ConnectionError(`the executor '${environmentId}' is offline`, { cause: offline });
      await pause(OFFLINE_POLL_MS, signal);
      signal.throwIfAborted();
      // A relay that is slow now has already said that the executor is offline.
      lookupSignal = anySignal([signal, AbortSignal.timeout(Math.ceil(leftMs - OFFLINE_POLL_MS))]);
    }
  };
}

/** Ends before the caller's own timeout does, whose error would not say why. */
function patience(timeoutMs: number): number {
  return Math.min(OFFLINE_PATIENCE_MS, 0.9 * timeoutMs);
}
