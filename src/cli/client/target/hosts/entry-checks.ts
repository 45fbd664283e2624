/** Describes what is wrong with the value of a key. */
export type Check = (value: unknown) => string | undefined;

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";

export const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

export const must =
  (isRight: (value: unknown) => boolean, what: string): Check =>
  (value) =>
    isRight(value) ? undefined : `must be ${what}`;

export const text = must(isText, "a non-empty string");

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** `local` is the user's own server, and Codex's own environment; `none` is Codex's word for no environment. */
const RESERVED = new Set(["local", "none"]);

/** Why a text cannot be the name of a host or a fleet; undefined if it can. */
export function nameFault(name: string): string | undefined {
  if (!NAME.test(name)) return "must have 1 to 64 letters, digits, '-' or '_'";
  return RESERVED.has(name) ? `must not be '${name}', which is reserved` : undefined;
}

/** Checks the keys of a table against what each may hold. */
export function keysFault(
  table: Readonly<Record<string, unknown>>,
  keys: Readonly<Record<string, Check>>,
): string | undefined {
  for (const [key, held] of Object.entries(table)) {
    const check = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (check === undefined) return `'${key}' is not a known key`;
    const fault = check(held);
    if (fault !== undefined) return `'${key}' ${fault}`;
  }
  return undefined;
}
