import {
  LIMIT_NAMES,
  LIMITS,
  type LimitDefinition,
  limitFault,
  limitFlag,
  limitValueName,
  type ServerLimits,
} from "../../server/settings/limits.ts";
import type { FlagNames, Flags } from "./flags.ts";

/** One flag per limit, with the placeholder of its value. */
export const LIMIT_FLAGS: FlagNames = Object.fromEntries(
  LIMIT_NAMES.map((name) => [limitFlag(name), limitValueName(name)]),
);

/** The limits set by flags. */
export function parseLimitFlags(flags: Flags): Partial<ServerLimits> {
  const limits: Record<string, unknown> = {};
  for (const name of LIMIT_NAMES) {
    const text = flags.get(limitFlag(name));
    if (text === undefined) continue;
    limits[name] = readValue(LIMITS[name], text);
    const fault = limitFault(name, limits[name]);
    if (fault !== undefined) throw flags.invalid(limitFlag(name), fault);
  }
  return limits;
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
