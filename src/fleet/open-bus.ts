import { abortable } from "../base/deadlines.ts";
import { natsOptions } from "./address.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { HANDSHAKE_MS, NatsBus } from "./nats-bus.ts";

/** How long connecting may take. */
export interface OpenBusOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Connects to the NATS of a fleet. Rejects with a ConnectionError, a UsageError, or the signal's reason. */
export async function openBus(
  address: FleetAddress,
  { timeoutMs, signal }: OpenBusOptions,
): Promise<NatsBus> {
  const timeout = Math.max(1, Math.min(timeoutMs, HANDSHAKE_MS));
  const opening = NatsBus.open({ ...natsOptions(address), timeout });
  try {
    return await abortable(opening, signal);
  } catch (error) {
    // If it connects after all, it is closed.
    void opening.then((late) => late.close()).catch(() => {});
    throw error;
  }
}
