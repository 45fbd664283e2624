import { dirname, resolve } from "node:path";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import {
  isTable,
  readRights,
  readSandbox,
  readUser,
  type Refuse,
  RIGHTS_KEYS,
} from "../../server/access/read-rights.ts";
import type { AuditOptions, McpToolOptions } from "../../server/index.ts";
import { LIMIT_NAMES, limitFault, limitKey, type ServerLimits } from "../../server/settings/limits.ts";
import type { RightsOptions } from "../../server/settings/rights-options.ts";
import type { SecretOptions } from "../../server/settings/secret-options.ts";
import { defined } from "../shared/defined.ts";
import { pathsFrom, resolveFleetPaths } from "../shared/paths-from.ts";
import { readAudit } from "./audit-flags.ts";
import { type Exposure, readOrigins, readPublicUrls, readTls } from "./exposure-flags.ts";
import { type ConfiguredFleet, readFleet } from "./fleet-flags.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./log.ts";
import { readMcp } from "./mcp-flags.ts";
import { readSecrets } from "./read-secrets.ts";
import { readTomlFile } from "./toml-file.ts";

const NAME_OF_KEY = new Map(LIMIT_NAMES.map((name) => [limitKey(name), name]));

/** Settings of a configuration file. */
export interface Configuration extends Exposure {
  readonly limits: Partial<ServerLimits>;
  readonly sandbox?: Sandbox;
  readonly requireSandbox?: boolean;
  /** The user as whom clients' requests are carried out. */
  readonly runAs?: string;
  readonly audit?: AuditOptions;
  /** Where the keeper is, if there is one. */
  readonly durable?: string;
  /** Whether the web console is served. */
  readonly console?: boolean;
  /** Whether `/metrics` is answered. */
  readonly metrics?: boolean;
  /** What MCP clients may do, if they are served. */
  readonly mcp?: McpToolOptions | false;
  readonly logLevel?: LogLevel;
  readonly logFormat?: LogFormat;
  /** The fleet that it joins. */
  readonly fleet?: ConfiguredFleet;
  /** Rights of clients without authentication. */
  readonly local?: RightsOptions;
  /** What processes use and do not have. */
  readonly secrets?: readonly SecretOptions[];
}

/** Reader of each key's value. */
const READERS: {
  readonly [key: string]: {
    readonly [Name in keyof Configuration]?: (value: unknown, refuse: Refuse) => Configuration[Name];
  };
} = {
  limits: { limits: readLimits },
  sandbox: { sandbox: (value, refuse) => readSandbox(value, "sandbox", refuse) },
  require_sandbox: { requireSandbox: switchReader("require_sandbox") },
  run_as: { runAs: readUser },
  local: { local: readLocal },
  secret: { secrets: readSecrets },
  audit: { audit: readAudit },
  durable: { durable: readDirectory },
  console: { console: switchReader("console") },
  metrics: { metrics: switchReader("metrics") },
  mcp: { mcp: readMcp },
  log_level: { logLevel: choiceReader("log_level", LOG_LEVELS) },
  log_format: { logFormat: choiceReader("log_format", LOG_FORMATS) },
  fleet: { fleet: readFleetTable },
  tls: { tls: readTls },
  public_urls: { publicUrls: readPublicUrls },
  allow_origins: { allowOrigins: readOrigins },
  allow_local_users: { allowLocalUsers: switchReader("allow_local_users") },
};

/**
 * Reads a configuration file. Unknown keys are errors. Files that it names are relative to its own directory; paths in
 * a sandbox are relative to the server's working directory.
 */
export async function readConfiguration(path: string): Promise<Configuration> {
  const { keys, refuse } = await readTomlFile(path, "configuration");
  for (const key of Object.keys(keys))
    if (!Object.hasOwn(READERS, key)) throw refuse(key, "is not a known key");
  const values = Object.entries(keys).flatMap(([key, value]) =>
    Object.entries(READERS[key]!).map(([name, read]) => [name, read(value, refuse)] as const),
  );
  const configuration: Configuration = { limits: {}, ...Object.fromEntries(values) };
  const { tls, audit, fleet, durable, mcp } = configuration;
  return {
    ...configuration,
    ...defined({
      tls: tls && pathsFrom(path, tls, ["cert", "key", "clientCa"]),
      audit: audit && pathsFrom(path, audit, ["file"]),
      mcp: mcp && { ...mcp, ...defined({ roots: mcp.roots?.map((root) => resolve(dirname(path), root)) }) },
      durable: durable === undefined ? undefined : resolve(dirname(path), durable),
      fleet: fleet && resolveFleetPaths(fleet, path),
    }),
  };
}

function switchReader(key: string) {
  return (value: unknown, refuse: Refuse): boolean => {
    if (typeof value !== "boolean") throw refuse(key, "must be true or false");
    return value;
  };
}

function choiceReader<T extends string>(key: string, values: readonly T[]) {
  return (value: unknown, refuse: Refuse): T => {
    const chosen = values.find((known) => known === value);
    if (chosen !== undefined) return chosen;
    throw refuse(key, `must be one of ${values.map((known) => `"${known}"`).join(", ")}`);
  };
}

function readDirectory(value: unknown, refuse: Refuse): string {
  if (typeof value !== "string" || value === "") throw refuse("durable", "must be the path of a directory");
  return value;
}

function readLocal(table: unknown, refuse: Refuse): RightsOptions {
  if (!isTable(table)) throw refuse("local", "must be a table");
  const refuseLocal: Refuse = (key, why) => refuse(`local.${key}`, why);
  for (const key of Object.keys(table))
    if (!RIGHTS_KEYS.includes(key)) throw refuseLocal(key, "is not a known key");
  return readRights(table, refuseLocal);
}

function readFleetTable(table: unknown, refuse: Refuse): ConfiguredFleet {
  if (!isTable(table)) throw refuse("fleet", "must be a table");
  return readFleet(table, (key, why) => refuse(`fleet.${key}`, why));
}

function readLimits(table: unknown, refuse: Refuse): Partial<ServerLimits> {
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
