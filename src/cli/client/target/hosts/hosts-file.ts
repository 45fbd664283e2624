import { statSync } from "node:fs";
import { hostsPath } from "../../../shared/hosts-path.ts";
import { readSmallFile } from "../../../shared/read-small-file.ts";
import { describeFileError, Failure } from "../../../shared/failure.ts";
import { parseToml } from "../../../shared/parse-toml.ts";
import { isTable } from "./entry-checks.ts";
import { type FleetEntry, fleetFault, holdsSecret } from "./fleet-entry.ts";
import { entryFault, type HostEntry } from "./host-entry.ts";

export const OTHERS_MAY_READ = 0o044;
/** Codex's other keys: a whole file of its can be used here. `fleets` is not Codex's. */
const TOP_KEYS = new Set(["environments", "fleets", "default", "include_local"]);

/** The hosts in a file. */
interface Hosts {
  /** The valid ones. */
  readonly hosts: readonly HostEntry[];
  /** Why the others cannot. Each concerns only itself. */
  readonly faults: readonly HostFault[];
  /** All, in their order. */
  readonly entries: readonly unknown[];
  /** The names of all; undefined for an entry that has none. */
  readonly names: readonly (string | undefined)[];
  /** The valid ones, by name. */
  readonly fleets: ReadonlyMap<string, FleetEntry>;
  readonly fleetFaults: readonly FleetFault[];
}

interface FleetFault {
  readonly name: string;
  readonly message: string;
}

interface HostFault {
  readonly id: string | undefined;
  readonly message: string;
}

/** The user's hosts, and the file that they are in. */
export interface HostsFile extends Hosts {
  readonly path: string;
  /** Undefined if the file does not exist. */
  readonly text: string | undefined;
  /** True if the file holds a token or a password that other users can read. */
  readonly isExposed: boolean;
}

/** Reads the file. Throws a Failure for one that cannot be read, or is not of this kind. */
export function readHosts(path: string = hostsPath()): HostsFile {
  const text = readText(path);
  const parsed = parseHosts(text ?? "", path);
  const hasSecret =
    parsed.hosts.some(({ auth_bearer_token: token }) => token !== undefined) ||
    [...parsed.fleets.values()].some(holdsSecret);
  return { path, text, ...parsed, isExposed: hasSecret && (statSync(path).mode & OTHERS_MAY_READ) !== 0 };
}

/** Warning about a file that others can read. */
export function secretsWarning(path: string): string {
  return `other users can read the secrets in ${path}; run 'chmod 600 ${path}'`;
}

/** The hosts in the text of such a file. */
export function parseHosts(text: string, path: string): Hosts {
  const file = parseToml(path, text);
  for (const key of Object.keys(file))
    if (!TOP_KEYS.has(key))
      throw new Failure(
        `${path}: '${key}' is not a known key; hosts are [[environments]] with an 'id', fleets [fleets.NAME]`,
      );
  const { environments: entries = [] } = file;
  if (!Array.isArray(entries)) throw new Failure(`${path}: hosts are written as [[environments]]`);
  const names = entries.map(nameOf);
  const faults = entries.flatMap((entry: unknown, index): HostFault[] => {
    const id = names[index];
    const isFirst = names.indexOf(id) === index;
    const isDuplicate = id !== undefined && isFirst && names.includes(id, index + 1);
    const fault = entryFault(entry) ?? (isDuplicate ? "its 'id' is used twice" : undefined);
    const shown = id === undefined ? `host ${index + 1}` : `host '${id}'`;
    return fault === undefined ? [] : [{ id, message: `${path}: ${shown} cannot be used: ${fault}` }];
  });
  const unusable = new Set(faults.map(({ id }) => id));
  const hosts = entries.filter((_, index) => !unusable.has(names[index]));
  return { entries, names, faults, hosts, ...parseFleets(file["fleets"] ?? {}, names, path) };
}

function parseFleets(
  tables: unknown,
  hostNames: readonly (string | undefined)[],
  path: string,
): Pick<Hosts, "fleets" | "fleetFaults"> {
  if (!isTable(tables)) throw new Failure(`${path}: fleets are written as [fleets.NAME]`);
  const fleets = new Map<string, FleetEntry>();
  const fleetFaults: FleetFault[] = [];
  for (const [name, value] of Object.entries(tables)) {
    const fault = hostNames.includes(name) ? "a host has the same name" : fleetFault(name, value);
    if (fault === undefined) fleets.set(name, value as FleetEntry);
    else fleetFaults.push({ name, message: `${path}: fleet '${name}' cannot be used: ${fault}` });
  }
  return { fleets, fleetFaults };
}

function nameOf(entry: unknown): string | undefined {
  const { id } = (entry ?? {}) as { id?: unknown };
  return typeof id === "string" ? id : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readSmallFile(path).toString("utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Failure(`cannot read ${path}: ${describeFileError(error)}`);
  }
}
