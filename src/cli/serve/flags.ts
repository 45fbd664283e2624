import { usageError } from "./cli-error.ts";

/** Placeholders of values that must not be empty. */
const NEVER_EMPTY = new Set(["PATH", "MODE"]);

/** Flags that take a value, with the placeholder used in messages. */
export type FlagNames = Readonly<Record<string, string>>;

/** Parsed flags by name. A switch has an empty value. */
export class Flags extends Map<string, string> {
  readonly #repeated = new Map<string, string[]>();

  /** Every value of a flag that may be repeated. */
  all(name: string): readonly string[] {
    return this.#repeated.get(name) ?? [];
  }

  add(name: string, value: string): void {
    this.set(name, value);
    this.#repeated.set(name, [...this.all(name), value]);
  }
}

/** What a command line may hold. */
export interface KnownFlags {
  readonly values: FlagNames;
  /** Flags without a value. */
  readonly switches?: readonly string[];
  /** Flags of `values` that may be given several times. */
  readonly repeatable?: readonly string[];
}

/**
 * Parses `--name value`, `--name=value`, and `--name` alone for a switch. Unless it is repeatable, a flag with a value
 * may be given once; anything else is refused.
 */
export function parseFlags(
  args: readonly string[],
  { values, switches = [], repeatable = [] }: KnownFlags,
): Flags {
  const flags = new Flags();
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [name = "", ...assigned] = argument.split("=");
    if (name.startsWith("--") && switches.includes(name.slice(2)) && assigned.length === 0) {
      flags.set(name.slice(2), "");
      continue;
    }
    const valueName = name.startsWith("--") ? values[name.slice(2)] : undefined;
    if (valueName === undefined) throw usageError(`unexpected argument '${argument}' found`);
    if (flags.has(name.slice(2)) && !repeatable.includes(name.slice(2)))
      throw usageError(`the argument '${name} <${valueName}>' cannot be used multiple times`);
    const value = assigned.length > 0 ? assigned.join("=") : rest.shift();
    if (value === undefined || (value === "" && NEVER_EMPTY.has(valueName)))
      throw usageError(`a value is required for '${name} <${valueName}>' but none was supplied`);
    flags.add(name.slice(2), value);
  }
  return flags;
}
