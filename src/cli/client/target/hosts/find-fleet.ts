import type { NamedFleet } from "../target.ts";
import { statSync } from "node:fs";
import { Failure, usageFailure } from "../../../shared/failure.ts";
import { defined } from "../../../shared/defined.ts";
import { complain } from "../../print/complain.ts";
import { addressOf } from "./fleet-entry.ts";
import { type HostsFile, OTHERS_MAY_READ, readHosts, secretsWarning } from "./hosts-file.ts";

const NONE = "no fleet is configured yet: see 'exec-server fleet add --help'";

/** The fleet of that name in hosts.toml; without a name, the only one there. */
export function findFleet(name?: string): NamedFleet {
  const file = readHosts();
  const fault = file.fleetFaults.find((one) => one.name === name);
  if (fault !== undefined) throw new Failure(fault.message);
  const known = [...file.fleets.keys()];
  const [only, ...others] = known;
  if (name === undefined && others.length > 0)
    throw usageFailure(`there are several fleets; name one of them: ${known.join(", ")}`);
  const wanted = name ?? only;
  if (wanted === undefined) throw usageFailure(NONE);
  return fleetOf(file, wanted);
}

/** The fleet of that name. Undefined if it does not exist, or if a host has the name. */
export function findFleetBesideHosts(name: string): NamedFleet | undefined {
  const { names, fleets, fleetFaults } = readHosts();
  const isFleet = fleets.has(name) || fleetFaults.some((fault) => fault.name === name);
  return isFleet && !names.includes(name) ? findFleet(name) : undefined;
}

/** All fleets of hosts.toml. */
export function allFleets(): NamedFleet[] {
  const file = readHosts();
  for (const { message } of file.fleetFaults) complain(message);
  if (file.fleets.size === 0) throw usageFailure(NONE);
  return [...file.fleets.keys()].map((name) => fleetOf(file, name));
}

/** For messages about an unknown name. */
export function knownFleets({ fleets }: Pick<HostsFile, "fleets">): string {
  return fleets.size === 0 ? NONE : `known fleets: ${[...fleets.keys()].join(", ")}`;
}

function fleetOf(file: HostsFile, name: string): NamedFleet {
  const entry = file.fleets.get(name);
  if (entry === undefined) throw usageFailure(`there is no fleet '${name}'; ${knownFleets(file)}`);
  if (file.isExposed) complain(secretsWarning(file.path));
  const address = addressOf(entry, file.path);
  for (const path of [address.credentials, address.nkey, address.key])
    if (path !== undefined && isExposed(path)) complain(secretsWarning(path));
  return defined({ name, address, token: entry.auth_bearer_token });
}

function isExposed(path: string): boolean {
  try {
    return (statSync(path).mode & OTHERS_MAY_READ) !== 0;
  } catch {
    // The code that uses the file reports what is wrong with it.
    return false;
  }
}
