import { hostname } from "node:os";
import { resolve } from "node:path";
import { messageOf } from "../../base/errors.ts";
import { checkLabels } from "../../fleet/labels.ts";
import { isExecutorId } from "../../fleet/subjects.ts";
import { isTable, type Refuse } from "../../server/access/read-rights.ts";
import type { FleetOptions } from "../../server/index.ts";
import { defined } from "../shared/defined.ts";
import { Failure, usageFailure } from "../shared/failure.ts";
import { resolveFleetPaths } from "../shared/paths-from.ts";
import type { Flags } from "./flags.ts";
import { readTomlFile } from "./toml-file.ts";

/** Flags about the fleet that a server joins, with the placeholders of their values. */
export const FLEET_FLAGS = { fleet: "FLEET", id: "NAME", label: "KEY=VALUE", slots: "COUNT" };
export const REPEATABLE_FLEET_FLAGS = ["label"];

const SERVER = /^[a-z]+:\/\//;

/** A fleet as a file describes it. The name of the executor may be missing. */
export type ConfiguredFleet = Omit<FleetOptions, "id" | "replaced" | "keepTrying"> & { readonly id?: string };

/** A fleet, and files about it that no client may see. */
interface JoinedFleet {
  readonly fleet: FleetOptions;
  readonly secrets: readonly string[];
}

/** Undefined without a fleet. Flags override the configuration file; `--fleet` replaces all of its `[fleet]`. */
export async function parseFleet(
  flags: Flags,
  configured: ConfiguredFleet | undefined,
): Promise<JoinedFleet | undefined> {
  const source = flags.get("fleet");
  const described = source === undefined ? configured : await fleetAt(source);
  if (described === undefined) {
    const misplaced = Object.keys(FLEET_FLAGS).find((name) => flags.has(name));
    if (misplaced === undefined) return undefined;
    throw usageFailure(`the argument '${flags.usage(misplaced)}' needs '--fleet <FLEET>'`);
  }
  const fleet = {
    ...described,
    id: flags.get("id") ?? described.id ?? ownName(),
    ...defined({ labels: parseLabels(flags), slots: parseSlots(flags) }),
  };
  const isFile = source !== undefined && !SERVER.test(source);
  return { fleet, secrets: isFile ? [resolve(source)] : [] };
}

async function fleetAt(source: string): Promise<ConfiguredFleet> {
  if (SERVER.test(source)) return { servers: source };
  const { keys, refuse } = await readTomlFile(source, "fleet");
  return resolveFleetPaths(readFleet(keys, refuse), source);
}

function ownName(): string {
  const name = hostname();
  if (isExecutorId(name)) return name;
  throw new Failure(
    `the host name ${JSON.stringify(name)} cannot be the name of an executor: give it one of up to 64 letters, digits, - and _ with --id`,
  );
}

function parseLabels(flags: Flags): Readonly<Record<string, string>> | undefined {
  if (!flags.has("label")) return undefined;
  const labels = new Map<string, string>();
  for (const text of flags.all("label")) {
    const at = text.indexOf("=");
    if (at < 0) throw flags.invalid("label", "expected KEY=VALUE", text);
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    if (labels.has(key)) throw flags.invalid("label", `the label ${key} is set twice`, text);
    try {
      checkLabels({ [key]: value });
    } catch (error) {
      throw flags.invalid("label", messageOf(error), text);
    }
    labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

function parseSlots(flags: Flags): number | undefined {
  const text = flags.get("slots");
  if (text === undefined) return undefined;
  const slots = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  if (slots >= 1) return slots;
  throw flags.invalid("slots", "expected a number from 1 to 100000");
}

/** Keys that hold a text. */
const TEXTS = ["credentials", "nkey", "user", "password", "ca", "cert", "key", "id"] as const;
/** Keys for clients, whose entry may be reused for an executor. */
const CLIENTS = ["inbox", "auth_bearer_token"];

/** Reads `[fleet]` of a configuration file, or a file that contains only its keys. */
export function readFleet(table: Readonly<Record<string, unknown>>, refuse: Refuse): ConfiguredFleet {
  const known: readonly string[] = ["servers", "labels", "slots", ...TEXTS, ...CLIENTS];
  for (const key of Object.keys(table)) if (!known.includes(key)) throw refuse(key, "is not a known key");
  const { servers, labels, slots } = table;
  if (servers === undefined)
    throw refuse("servers", "is missing: expected nats://HOST:PORT or tls://HOST:PORT");
  if (!isText(servers) && !(Array.isArray(servers) && servers.every(isText)))
    throw refuse("servers", "must be the URL of a NATS server, or an array of them");
  if (slots !== undefined && typeof slots !== "number") throw refuse("slots", "must be a number");
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const key of TEXTS) {
    const value = table[key];
    if (value === undefined) continue;
    if (!isText(value)) throw refuse(key, "must be a non-empty string");
    texts[key] = value;
  }
  return { servers, ...texts, ...defined({ labels: readLabels(labels, refuse), slots }) };
}

function readLabels(table: unknown, refuse: Refuse): Readonly<Record<string, string>> | undefined {
  if (table === undefined) return undefined;
  if (!isTable(table)) throw refuse("labels", "must be a table of strings");
  for (const [key, value] of Object.entries(table))
    if (typeof value !== "string") throw refuse(`labels.${key}`, "must be a string");
  return table as Record<string, string>;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
