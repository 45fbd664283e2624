import { resolveFleetPaths } from "../shared/paths-from.ts";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { messageOf } from "../../base/errors.ts";
import { checkLabels } from "../../fleet/labels.ts";
import { isExecutorId } from "../../fleet/subjects.ts";
import type { FleetOptions } from "../../server/index.ts";
import { failure, usageError } from "./cli-error.ts";
import type { Flags } from "./flags.ts";
import { type ConfiguredFleet, fleetOf } from "./fleet-keys.ts";
import { readTomlFile } from "./toml-file.ts";

/** Flags about the fleet that a server joins, with the placeholders of their values. */
export const FLEET_FLAGS = { fleet: "FLEET", id: "NAME", label: "KEY=VALUE", slots: "COUNT" };
export const REPEATABLE_FLEET_FLAGS = ["label"];

const SERVER = /^[a-z]+:\/\//;

/** A fleet, and files about it that no client may see. */
interface GivenFleet {
  readonly fleet: FleetOptions;
  readonly secrets: readonly string[];
}

/** Undefined if there is no fleet. Flags go before the configuration file; `--fleet` replaces all of its `[fleet]`. */
export async function parseFleet(
  flags: Flags,
  configured: ConfiguredFleet | undefined,
): Promise<GivenFleet | undefined> {
  const place = flags.get("fleet");
  const given = place === undefined ? configured : await fleetAt(place);
  if (given === undefined) {
    const misplaced = Object.entries(FLEET_FLAGS).find(([name]) => flags.has(name));
    if (misplaced === undefined) return undefined;
    throw usageError(`the argument '--${misplaced[0]} <${misplaced[1]}>' needs '--fleet <FLEET>'`);
  }
  const slots = flags.get("slots");
  const fleet = {
    ...given,
    id: flags.get("id") ?? given.id ?? ownName(),
    ...(flags.has("label") ? { labels: parseLabels(flags.all("label")) } : {}),
    ...(slots === undefined ? {} : { slots: parseSlots(slots) }),
  };
  const isFile = place !== undefined && !SERVER.test(place);
  return { fleet, secrets: isFile ? [resolve(place)] : [] };
}

async function fleetAt(place: string): Promise<ConfiguredFleet> {
  if (SERVER.test(place)) return { servers: place };
  const { keys, refuse } = await readTomlFile(place, "fleet");
  return resolveFleetPaths(fleetOf(keys, refuse), place);
}

function ownName(): string {
  const name = hostname();
  if (isExecutorId(name)) return name;
  throw failure(
    `the host name ${JSON.stringify(name)} cannot be the name of an executor: give it one of up to 64 letters, digits, - and _ with --id`,
  );
}

function parseLabels(texts: readonly string[]): Readonly<Record<string, string>> {
  const labels = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    const refuse = (why: string): Error =>
      usageError(`invalid value '${text}' for '--label <KEY=VALUE>': ${why}`);
    if (at < 0) throw refuse("expected KEY=VALUE");
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    if (labels.has(key)) throw refuse(`the label ${key} is given twice`);
    try {
      checkLabels({ [key]: value });
    } catch (error) {
      throw refuse(messageOf(error));
    }
    labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

function parseSlots(text: string): number {
  const slots = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  if (slots >= 1) return slots;
  throw usageError(`invalid value '${text}' for '--slots <COUNT>': expected a number from 1 to 100000`);
}
