import type { Transport } from "../transport/transport.ts";
import { inboxOf } from "./address.ts";
import { dial, type DialOptions } from "./dial.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { Mailboxes } from "./mailboxes.ts";
import { openBus } from "./open-bus.ts";
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
  const bus = await openBus(address, { timeoutMs, signal });
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
