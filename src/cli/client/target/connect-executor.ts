import { ConnectionError } from "../../../base/errors.ts";
import { connect } from "../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../client/host/open-host.ts";
import { openFleet } from "../../../client/host/fleet.ts";
import type { Host } from "../../../client/host/host.ts";
import { Failure } from "../outcome/failure.ts";
import { someOf } from "../print/some-of.ts";
import type { ExecutorTarget } from "./target.ts";
import { fleetFailure } from "./fleet-failure.ts";

/** Only to say who is there. */
const LIST_TIMEOUT_MS = 3_000;

/** Connects to an executor of a fleet of hosts.toml. */
export async function connectExecutor(target: ExecutorTarget, options: ConnectOptions): Promise<Host> {
  const { fleet, id, token } = target;
  try {
    return await connect(
      { fleet: fleet.address, id },
      { ...options, ...(token === undefined ? {} : { token }) },
    );
  } catch (error) {
    const names = isLost(error) ? await whoIsThere(target) : undefined;
    if (names !== undefined && !names.includes(id)) throw unknownExecutor(fleet.name, id, names);
    throw fleetFailure(error, fleet);
  }
}

/** What is said about a name that is not in a fleet. */
export function unknownExecutor(fleet: string, id: string, names: readonly string[]): Failure {
  const there = names.length === 0 ? "nobody is" : `there are: ${someOf(names)}`;
  return new Failure(`no executor '${id}' is connected to the fleet '${fleet}'; ${there}`);
}

function isLost(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === "CONNECTION_CLOSED" && error.status === undefined;
}

/** Undefined if that cannot be found out. */
async function whoIsThere({ fleet: { address } }: ExecutorTarget): Promise<string[] | undefined> {
  try {
    await using fleet = await openFleet(address, { connectTimeoutMs: LIST_TIMEOUT_MS });
    return fleet.list().map((executor) => executor.id);
  } catch {
    return undefined;
  }
}
