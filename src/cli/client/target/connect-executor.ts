import { ConnectionError } from "../../../base/errors.ts";
import { connect } from "../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../client/host/open-host.ts";
import { openFleet } from "../../../client/host/fleet.ts";
import type { Host } from "../../../client/host/host.ts";
import { defined } from "../../shared/defined.ts";
import { Failure } from "../../shared/failure.ts";
import { someOf } from "../print/some-of.ts";
import type { ExecutorTarget } from "./target.ts";
import { fleetFailure } from "./fleet-failure.ts";

/** Only for naming the existing executors. */
const LIST_TIMEOUT_MS = 3_000;

/** Connects to an executor of a fleet of hosts.toml. */
export async function connectExecutor(target: ExecutorTarget, options: ConnectOptions): Promise<Host> {
  const { fleet, id, token } = target;
  try {
    return await connect({ fleet: fleet.address, id }, { ...options, ...defined({ token }) });
  } catch (error) {
    const names = isLost(error) ? await executorNames(target) : undefined;
    if (names !== undefined && !names.includes(id)) throw unknownExecutor(fleet.name, id, names);
    throw fleetFailure(error, fleet);
  }
}

/** The error for a name that is not in a fleet. */
export function unknownExecutor(fleet: string, id: string, names: readonly string[]): Failure {
  const others = names.length === 0 ? "the fleet is empty" : `connected: ${someOf(names)}`;
  return new Failure(`no executor '${id}' is connected to the fleet '${fleet}'; ${others}`);
}

function isLost(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === "CONNECTION_CLOSED" && error.status === undefined;
}

/** Undefined if that cannot be found out. */
async function executorNames({ fleet: { address } }: ExecutorTarget): Promise<string[] | undefined> {
  try {
    await using fleet = await openFleet(address, { connectTimeoutMs: LIST_TIMEOUT_MS });
    return fleet.list().map((executor) => executor.id);
  } catch {
    return undefined;
  }
}
