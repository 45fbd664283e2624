import { messageOf } from "../../../base/errors.ts";
import type { FleetAddress } from "../../../fleet/fleet-address.ts";
import { type Check, failed, passed } from "./check.ts";

const NAME = "nats";
const TIMEOUT_MS = 5_000;

/** Whether the NATS server of a fleet accepts this machine. */
export async function checkNats(fleet: FleetAddress): Promise<Check> {
  const shown = [fleet.servers].flat().join(", ");
  try {
    // Only a fleet needs the NATS library.
    const { openBus } = await import("../../../fleet/open-bus.ts");
    const bus = await openBus(fleet, { timeoutMs: TIMEOUT_MS });
    await bus.close();
    return passed(NAME, `${shown} accepts this machine`);
  } catch (error) {
    return failed(
      NAME,
      `${shown}: ${messageOf(error)}`,
      "check the fleet's servers and credentials, and that this machine may reach that port",
    );
  }
}
