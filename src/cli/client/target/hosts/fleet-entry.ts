import { resolveFleetPaths } from "../../../shared/paths-from.ts";
import type { FleetAddress } from "../../../../fleet/fleet-address.ts";
import { type Check, isTable, keysFault, must, nameFault, text } from "./entry-checks.ts";

/** A table `[fleets.NAME]` of hosts.toml. Paths in it are relative to the directory of the file. */
export interface FleetEntry extends FleetAddress {
  /** For the executors, not for NATS. */
  readonly auth_bearer_token?: string;
}

const SERVER = /^(?:nats|tls):\/\/[^\s/@]+\/?$/;
const isServer = (value: unknown): boolean => typeof value === "string" && SERVER.test(value);

const KEYS: Readonly<Record<string, Check>> = {
  servers: must(
    (value) => isServer(value) || (Array.isArray(value) && value.length > 0 && value.every(isServer)),
    "nats://HOST:PORT or tls://HOST:PORT, or an array of them",
  ),
  credentials: text,
  nkey: text,
  user: text,
  password: text,
  ca: text,
  cert: text,
  key: text,
  inbox: must(
    (value) => typeof value === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(value),
    "1 to 64 letters, digits, '-' or '_'",
  ),
  auth_bearer_token: text,
};

/** Keys of which the first needs the second. */
const PAIRS = [
  ["user", "password"],
  ["password", "user"],
  ["cert", "key"],
  ["key", "cert"],
] as const;
const LOGINS = ["credentials", "nkey", "user"];

/** Why a value is not a valid fleet of that name; undefined if it is. */
export function fleetFault(name: string, value: unknown): string | undefined {
  const wrongName = nameFault(name);
  if (wrongName !== undefined) return `its name ${wrongName}`;
  if (!isTable(value)) return "it must be a table";
  const wrongKey = keysFault(value, KEYS);
  if (wrongKey !== undefined) return wrongKey;
  const has = (key: string): boolean => value[key] !== undefined;
  if (!has("servers")) return "'servers' is missing";
  for (const [key, needed] of PAIRS) if (has(key) && !has(needed)) return `'${key}' needs '${needed}'`;
  const logins = LOGINS.filter(has);
  if (logins.length > 1) return `it has both '${logins[0]}' and '${logins[1]}'`;
  const servers = [value["servers"]].flat().map(String);
  const secure = servers.filter((server) => server.startsWith("tls:"));
  if (secure.length > 0 && secure.length < servers.length)
    return "either all of its 'servers' have tls://, or none";
  const needsTls = ["ca", "cert"].find(has);
  return needsTls !== undefined && secure.length === 0
    ? `'${needsTls}' needs servers with tls://`
    : undefined;
}

/** Whether an entry contains secrets. */
export function holdsSecret({ password, auth_bearer_token: token }: FleetEntry): boolean {
  return (password ?? token) !== undefined;
}

/** Address of the fleet of an entry in the file `path`. */
export function addressOf({ auth_bearer_token: _token, ...entry }: FleetEntry, path: string): FleetAddress {
  return resolveFleetPaths(entry, path);
}
