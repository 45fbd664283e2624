import type { Sandbox } from "../../protocol/sandbox-options.ts";
import { isTable, readRights, readSandbox, readUser, RIGHTS_KEYS } from "../../server/access/read-rights.ts";
import type { RightsOptions } from "../../server/settings/rights-options.ts";
import { LIMIT_NAMES, limitFault, limitKey, type ServerLimits } from "../../server/settings/limits.ts";
import type { AuditOptions } from "../../server/index.ts";
import { auditOf } from "./audit-flags.ts";
import type { Exposure } from "./exposure-flags.ts";
import { EXPOSURE_KEYS, exposureOf } from "./exposure-keys.ts";
import { type ConfiguredFleet, fleetOf } from "./fleet-keys.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./log.ts";
import { pathsFrom, resolveFleetPaths } from "../shared/paths-from.ts";
import { readTomlFile, type Refuse } from "./toml-file.ts";

const NAME_OF_KEY = new Map(LIMIT_NAMES.map((name) => [limitKey(name), name]));

/** What a configuration file can set. */
export interface Configuration extends Exposure {
  readonly limits: Partial<ServerLimits>;
  readonly sandbox?: Sandbox;
  readonly requireSandbox?: boolean;
  /** As whom everything happens that clients ask for. */
  readonly runAs?: string;
  readonly audit?: AuditOptions;
  /** Whether the web console is served. */
  readonly console?: boolean;
  /** Whether `/metrics` is answered. */
  readonly metrics?: boolean;
  readonly logLevel?: LogLevel;
  readonly logFormat?: LogFormat;
  /** The fleet that it joins. */
  readonly fleet?: ConfiguredFleet;
  /** Rights of clients without authentication. */
  readonly local?: RightsOptions;
}

const SWITCHES = { require_sandbox: "requireSandbox", console: "console", metrics: "metrics" } as const;
const CHOICES = {
  log_level: { name: "logLevel", values: LOG_LEVELS },
  log_format: { name: "logFormat", values: LOG_FORMATS },
} as const;
const KEYS = [
  "limits",
  "sandbox",
  "run_as",
  "local",
  "audit",
  "fleet",
  ...Object.keys(SWITCHES),
  ...Object.keys(CHOICES),
  ...EXPOSURE_KEYS,
];

/**
 * Reads a configuration file. Anything in it that is not known is an error. Files that it names are relative to its own
 * directory; what a sandbox allows is relative to where the server runs.
 */
export async function readConfiguration(path: string): Promise<Configuration> {
  const { keys: file, refuse } = await readTomlFile(path, "configuration");
  for (const key of Object.keys(file)) if (!KEYS.includes(key)) throw refuse(key, "is not a known key");
  const { limits = {}, sandbox, run_as: runAs, local, audit, fleet } = file;
  const edge = exposureOf(file, refuse);
  return {
    limits: limitsOf(limits, refuse),
    ...(sandbox === undefined ? {} : { sandbox: readSandbox(sandbox, "sandbox", refuse) }),
    ...(runAs === undefined ? {} : { runAs: readUser(runAs, refuse) }),
    ...(local === undefined ? {} : { local: localRights(local, refuse) }),
    ...switchesOf(file, refuse),
    ...choicesOf(file, refuse),
    ...edge,
    ...(edge.tls === undefined ? {} : { tls: pathsFrom(path, edge.tls, ["cert", "key", "clientCa"]) }),
    ...(audit === undefined ? {} : { audit: pathsFrom(path, auditOf(audit, refuse), ["file"]) }),
    ...(fleet === undefined ? {} : { fleet: configuredFleet(fleet, path, refuse) }),
  };
}

function switchesOf(
  file: Readonly<Record<string, unknown>>,
  refuse: Refuse,
): Pick<Configuration, "requireSandbox" | "console" | "metrics"> {
  const switches: Record<string, boolean> = {};
  for (const [key, name] of Object.entries(SWITCHES)) {
    const value = file[key];
    if (value === undefined) continue;
    if (typeof value !== "boolean") throw refuse(key, "must be true or false");
    switches[name] = value;
  }
  return switches;
}

function choicesOf(
  file: Readonly<Record<string, unknown>>,
  refuse: Refuse,
): Pick<Configuration, "logLevel" | "logFormat"> {
  const choices: Record<string, string> = {};
  for (const [key, { name, values }] of Object.entries(CHOICES)) {
    const given = file[key];
    if (given === undefined) continue;
    const value = values.find((known) => known === given);
    if (value === undefined)
      throw refuse(key, `must be one of ${values.map((known) => `"${known}"`).join(", ")}`);
    choices[name] = value;
  }
  return choices;
}

function localRights(table: unknown, refuse: Refuse): RightsOptions {
  if (!isTable(table)) throw refuse("local", "must be a table");
  const refuseLocal: Refuse = (key, why) => refuse(`local.${key}`, why);
  for (const key of Object.keys(table))
    if (!RIGHTS_KEYS.includes(key)) throw refuseLocal(key, "is not a known key");
  return readRights(table, refuseLocal);
}

function configuredFleet(table: unknown, path: string, refuse: Refuse): ConfiguredFleet {
  if (!isTable(table)) throw refuse("fleet", "must be a table");
  const fleet = fleetOf(table, (key, why) => refuse(`fleet.${key}`, why));
  return resolveFleetPaths(fleet, path);
}

function limitsOf(table: unknown, refuse: Refuse): Partial<ServerLimits> {
  if (!isTable(table)) throw refuse("limits", "must be a table");
  const limits: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(table)) {
    const name = NAME_OF_KEY.get(key);
    if (name === undefined) throw refuse(`limits.${key}`, "is not a known key");
    const fault = limitFault(name, value);
    if (fault !== undefined) throw refuse(`limits.${key}`, fault);
    limits[name] = value;
  }
  return limits;
}
