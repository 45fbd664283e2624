import { libc } from "./libc.ts";
import { resultOr } from "./result-or.ts";

const LC_CTYPE_MASK = 1;

/** True if the C library has a locale of this name, as a file or built in. */
export function hasLocale(name: string): boolean {
  return resultOr(false, () => libc().newLocale(LC_CTYPE_MASK, name, null) !== 0);
}
