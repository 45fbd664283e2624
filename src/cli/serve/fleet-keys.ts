import { isTable } from "../../server/access/read-rights.ts";
import type { FleetOptions } from "../../server/index.ts";
import type { Refuse } from "./toml-file.ts";

/** A fleet as a file describes it. The name of the executor may be missing. */
export type ConfiguredFleet = Omit<FleetOptions, "id" | "replaced" | "keepTrying"> & { readonly id?: string };

/** Keys that hold a text. */
const TEXTS = ["credentials", "nkey", "user", "password", "ca", "cert", "key", "id"] as const;
/** Keys of clients, whose entry may be used for an executor, too. */
const CLIENTS = ["inbox", "auth_bearer_token"];

/** Reads `[fleet]` of a configuration file, or a file that holds its keys alone. */
export function fleetOf(table: Readonly<Record<string, unknown>>, refuse: Refuse): ConfiguredFleet {
  const known: readonly string[] = ["servers", "labels", "slots", ...TEXTS, ...CLIENTS];
  for (const key of Object.keys(table)) if (!known.includes(key)) throw refuse(key, "is not a known key");
  const { servers, labels, slots } = table;
  if (servers === undefined)
    throw refuse("servers", "is missing: expected nats://HOST:PORT or tls://HOST:PORT");
  if (!isText(servers) && !(Array.isArray(servers) && servers.every(isText)))
    throw refuse("servers", "must be the URL of a NATS server, or an array of them");
  if (slots !== undefined && typeof slots !== "number") throw refuse("slots", "must be a number");
  return {
    servers,
    ...textsOf(table, refuse),
    ...(labels === undefined ? {} : { labels: labelsOf(labels, refuse) }),
    ...(slots === undefined ? {} : { slots }),
  };
}

function textsOf(
  table: Readonly<Record<string, unknown>>,
  refuse: Refuse,
): Partial<Record<(typeof TEXTS)[number], string>> {
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const key of TEXTS) {
    const value = table[key];
    if (value === undefined) continue;
    if (!isText(value)) throw refuse(key, "must be a text that is not empty");
    texts[key] = value;
  }
  return texts;
}

function labelsOf(table: unknown, refuse: Refuse): Readonly<Record<string, string>> {
  if (!isTable(table)) throw refuse("labels", "must be a table of texts");
  const labels: [string, string][] = [];
  for (const [key, value] of Object.entries(table)) {
    if (typeof value !== "string") throw refuse(`labels.${key}`, "must be a text");
    labels.push([key, value]);
  }
  return Object.fromEntries(labels);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
