import {
  LIMIT_NAMES,
  LIMITS,
  type LimitDefinition,
  type LimitName,
  limitFault,
  limitFlag,
  limitValueName,
  type ServerLimits,
} from "../../server/settings/limits.ts";
import { usageError } from "./cli-error.ts";
import type { FlagNames } from "./flags.ts";

/** One flag per limit, with the placeholder of its value. */
export const LIMIT_FLAGS: FlagNames = Object.fromEntries(
  LIMIT_NAMES.map((name) => [limitFlag(name), limitValueName(name)]),
);

/** The limits set by flags. */
export function parseLimitFlags(flags: ReadonlyMap<string, string>): Partial<ServerLimits> {
  const limits: Record<string, unknown> = {};
  for (const name of LIMIT_NAMES) {
    const text = flags.get(limitFlag(name));
    if (text !== undefined) limits[name] = parseValue(name, text);
  }
  return limits;
}

function parseValue(name: LimitName, text: string): unknown {
  const value = readValue(LIMITS[name], text);
  const fault = limitFault(name, value);
  if (fault === undefined) return value;
  throw usageError(`invalid value '${text}' for '--${limitFlag(name)} <${limitValueName(name)}>': ${fault}`);
}

function readValue({ kind }: LimitDefinition, text: string): unknown {
  switch (kind) {
    case "number":
      return /^[0-9]{1,15}$/.test(text) ? Number(text) : text;
    case "switch":
      return text === "true" || (text === "false" ? false : text);
    case "paths":
      return text.split(":");
  }
}
