import { resolve } from "node:path";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { readSecret, readToken } from "../arguments.ts";
import { withFleet, withoutFleet } from "../target/hosts/edit-hosts.ts";
import { nameFault } from "../target/hosts/entry-checks.ts";
import { knownFleets } from "../target/hosts/find-fleet.ts";
import { fleetFault } from "../target/hosts/fleet-entry.ts";
import { hostsPath } from "../../shared/hosts-path.ts";
import { readHosts } from "../target/hosts/hosts-file.ts";
import { replaceFile } from "../../shared/replace-file.ts";
import type { TargetOptions } from "../target/target-options.ts";

/** How to log in to NATS, and to the executors. */
export interface AddFleetOptions extends Pick<TargetOptions, "tokenFile" | "ca" | "cert" | "key"> {
  readonly credentials?: string;
  readonly nkey?: string;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly inbox?: string;
  readonly replace?: boolean;
}

/** Adds a fleet to hosts.toml. */
export async function addFleet(
  name: string,
  servers: readonly string[],
  options: AddFleetOptions,
): Promise<void> {
  const wrongName = nameFault(name);
  if (wrongName !== undefined) throw usageFailure(`the name of a fleet ${wrongName}, not '${name}'`);
  const { credentials, nkey, user, passwordFile, ca, cert, key, inbox, tokenFile } = options;
  const entry = defined({
    servers,
    credentials: credentials && resolve(credentials),
    nkey: nkey && resolve(nkey),
    user,
    password: readSecret("password", passwordFile),
    ca: ca && resolve(ca),
    cert: cert && resolve(cert),
    key: key && resolve(key),
    inbox,
    auth_bearer_token: readToken(tokenFile),
  });
  const fault = fleetFault(name, entry);
  if (fault !== undefined) throw usageFailure(`cannot add '${name}': ${fault}`);
  const path = hostsPath();
  await replaceFile(path, () => {
    const { text = "", names, fleets, fleetFaults } = readHosts(path);
    if (names.includes(name)) throw usageFailure(`there is a host '${name}' already; choose another name`);
    const isKnown = fleets.has(name) || fleetFaults.some((one) => one.name === name);
    if (isKnown && options.replace !== true)
      throw usageFailure(`there is a fleet '${name}' already; use --replace to replace it`);
    return withFleet(isKnown ? withoutFleet(text, name, path) : text, name, entry, path);
  });
}

/** Removes a fleet from hosts.toml. */
export async function removeFleet(name: string): Promise<void> {
  const path = hostsPath();
  const file = readHosts(path);
  if (!file.fleets.has(name) && !file.fleetFaults.some((fault) => fault.name === name))
    throw usageFailure(`there is no fleet '${name}'; ${knownFleets(file)}`);
  await replaceFile(path, () => withoutFleet(readHosts(path).text ?? "", name, path));
}
