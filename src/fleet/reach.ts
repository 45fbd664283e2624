import type { Transport } from "../transport/transport.ts";
import { inboxOf } from "./address.ts";
import { decodeBeat } from "./beat-message.ts";
import type { Bus } from "./bus.ts";
import { dial, type DialOptions, type FollowRuns } from "./dial.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { Mailboxes } from "./mailboxes.ts";
import { openBus } from "./open-bus.ts";
import { beatSubject, checkExecutorId, isExecutorInbox } from "./subjects.ts";

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
    const more = { timeoutMs: left, ended: close, followRuns: followBeats(bus) };
    return await dial(bus, mailboxes, id, { ...options, ...more });
  } catch (error) {
    close();
    throw error;
  }
}

/** A client without the permission to hear beats hears nothing, and nothing depends on it. */
function followBeats(bus: Bus): FollowRuns {
  return (id, heard) =>
    bus.subscribe(beatSubject(id), ({ data }) => {
      const beat = decodeBeat(data);
      if (beat !== undefined && beat.id === id && beat.state !== "gone") heard(beat.run);
    });
}
