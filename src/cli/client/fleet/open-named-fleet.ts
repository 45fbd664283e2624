import { type Fleet, openFleet, type OpenFleetOptions } from "../../../client/host/fleet.ts";
import type { NamedFleet } from "../target/target.ts";
import { connectOptions } from "../target/connect-target.ts";
import { executorToken } from "../target/executor-token.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { fleetFailure } from "../target/fleet-failure.ts";

/** Enters a fleet of hosts.toml with the token that the options, the file or the environment gives. */
export async function openNamedFleet(
  named: NamedFleet,
  given: Pick<TargetOptions, "debug" | "tokenFile">,
  more: OpenFleetOptions = {},
): Promise<Fleet> {
  const token = executorToken(named, given);
  const options = { ...connectOptions(given), ...more, ...(token === undefined ? {} : { token }) };
  try {
    return await openFleet(named.address, options);
  } catch (error) {
    throw fleetFailure(error, named);
  }
}
