import { type Fleet, openFleet, type OpenFleetOptions } from "../../../client/host/fleet.ts";
import { defined } from "../../shared/defined.ts";
import type { NamedFleet } from "../target/target.ts";
import { connectOptions } from "../target/connect-target.ts";
import { executorToken } from "../target/resolve-target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { fleetFailure } from "../target/fleet-failure.ts";

/** Enters a fleet of hosts.toml with the token that the options, the file or the environment gives. */
export async function openNamedFleet(
  named: NamedFleet,
  options: Pick<TargetOptions, "debug" | "tokenFile">,
  more: OpenFleetOptions = {},
): Promise<Fleet> {
  const token = executorToken(named, options);
  try {
    return await openFleet(named.address, { ...connectOptions(options), ...more, ...defined({ token }) });
  } catch (error) {
    throw fleetFailure(error, named);
  }
}
