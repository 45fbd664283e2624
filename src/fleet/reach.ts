import { abortable } from "../base/deadlines.ts";
import type { Transport } from "../transport/transport.ts";
import { inboxOf, natsOptions } from "./address.ts";
import { dial, type DialOptions } from "./dial.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { Mailboxes } from "./mailboxes.ts";
import { NatsBus } from "./nats-bus.ts";
import { checkExecutorId, isExecutorInbox } from "./subjects.ts";

/** Opens a connection to one executor of a fleet. The connection to NATS ends with it. */
export async function reach(
  address: FleetAddress,
  id: string,
  options: DialOptions = {},
): Promise<Transport> {
  checkExecutorId(id);
  const inbox = inboxOf(address);
  const started = performance.now();
  const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
  const opening = NatsBus.open({ ...natsOptions(address), ...timeoutOf(timeoutMs) });
  const bus = await abortable(opening, signal).catch((error: unknown) => {
    // It may still connect, for nobody.
    void opening.then((late) => late.close()).catch(() => {});
    throw error;
  });
  const close = (): void => void bus.close();
  const mailboxes = new Mailboxes(bus, inbox, (subject) => isExecutorInbox(subject, id));
  const left = Math.max(0, timeoutMs - (performance.now() - started));
  try {
    return await dial(bus, mailboxes, id, { ...options, timeoutMs: left, ended: close });
  } catch (error) {
    close();
    throw error;
  }
}

function timeoutOf(timeoutMs: number): { timeout?: number } {
  return Number.isFinite(timeoutMs) ? { timeout: Math.max(1, timeoutMs) } : {};
}
