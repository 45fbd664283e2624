import { type Failure, usageFailure } from "../shared/failure.ts";

/** Placeholders of values that must not be empty. */
const NEVER_EMPTY = new Set(["PATH", "DIR", "MODE"]);

/** Flags that take a value, with the placeholder used in messages. */
export type FlagNames = Readonly<Record<string, string>>;

/** Parsed flags by name. A switch has an empty value. */
export class Flags extends Map<string, string> {
  readonly #placeholders: FlagNames;
  readonly #repeated = new Map<string, string[]>();

  constructor(placeholders: FlagNames) {
    super();
    this.#placeholders = placeholders;
  }

  /** Every value of a flag that may be repeated. */
  all(name: string): readonly string[] {
    return this.#repeated.get(name) ?? [];
  }

  add(name: string, value: string): void {
    this.set(name, value);
    this.#repeated.set(name, [...this.all(name), value]);
  }

  /** A flag as messages show it, such as `--listen <URL>`. */
  usage(name: string): string {
    return `--${name} <${this.#placeholders[name]}>`;
  }

  /** The error for a value that a flag cannot have. */
  invalid(name: string, why: string, value = this.get(name)): Failure {
    return usageFailure(`invalid value '${value}' for '${this.usage(name)}': ${why}`);
  }

  /** The value of a flag that takes one of several; undefined without the flag. */
  choice<const T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = values.find((known) => known === this.get(name));
    if (value === undefined && this.has(name)) throw this.invalid(name, `expected ${values.join(", ")}`);
    return value;
  }
}

/** Flags that a command line may contain. */
export interface KnownFlags {
  readonly values: FlagNames;
  /** Flags without a value. */
  readonly switches?: readonly string[];
  /** Flags of `values` that may be given several times. */
  readonly repeatable?: readonly string[];
}

/**
 * Parses `--name value`, `--name=value`, and `--name` alone for a switch. Unless it is repeatable, a flag with a value
 * may occur once; anything else is refused.
 */
export function parseFlags(
  args: readonly string[],
  { values, switches = [], repeatable = [] }: KnownFlags,
): Flags {
  const flags = new Flags(values);
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [flag = "", ...assigned] = argument.split("=");
    const name = flag.startsWith("--") ? flag.slice(2) : "";
    if (switches.includes(name) && assigned.length === 0) {
      flags.set(name, "");
      continue;
    }
    const placeholder = values[name];
    if (placeholder === undefined) throw usageFailure(`unexpected argument '${argument}' found`);
    if (flags.has(name) && !repeatable.includes(name))
      throw usageFailure(`the argument '${flags.usage(name)}' cannot be used multiple times`);
    const value = assigned.length > 0 ? assigned.join("=") : rest.shift();
    if (value === undefined || (value === "" && NEVER_EMPTY.has(placeholder)))
      throw usageFailure(`a value is required for '${flags.usage(name)}' but none was supplied`);
    flags.add(name, value);
  }
  return flags;
}
