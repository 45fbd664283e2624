import { usageError } from "./cli-error.ts";

/** Placeholders of values that must not be empty. */
const NEVER_EMPTY = new Set(["PATH", "MODE"]);

/** Flags that take a value, with the placeholder used in messages. */
export type FlagNames = Readonly<Record<string, string>>;

/**
 * Parses `--name value`, `--name=value`, and `--name` alone for a switch, whose value is then empty. A flag with a
 * value may be given once; anything else is refused.
 */
export function parseFlags(
  args: readonly string[],
  known: FlagNames,
  switches: readonly string[] = [],
): Map<string, string> {
  const flags = new Map<string, string>();
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [name = "", ...assigned] = argument.split("=");
    if (name.startsWith("--") && switches.includes(name.slice(2)) && assigned.length === 0) {
      flags.set(name.slice(2), "");
      continue;
    }
    const valueName = name.startsWith("--") ? known[name.slice(2)] : undefined;
    if (valueName === undefined) throw usageError(`unexpected argument '${argument}' found`);
    if (flags.has(name.slice(2)))
      throw usageError(`the argument '${name} <${valueName}>' cannot be used multiple times`);
    const value = assigned.length > 0 ? assigned.join("=") : rest.shift();
    if (value === undefined || (value === "" && NEVER_EMPTY.has(valueName)))
      throw usageError(`a value is required for '${name} <${valueName}>' but none was supplied`);
    flags.set(name.slice(2), value);
  }
  return flags;
}
