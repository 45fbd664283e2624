import { dirname, resolve } from "node:path";

/** The same values, except that paths under these keys, if they are relative, begin at the directory of `file`. */
export function pathsFrom<T extends object>(file: string, values: T, keys: readonly (keyof T & string)[]): T {
  const paths = keys.flatMap((key) => {
    const path = values[key];
    return typeof path === "string" ? [[key, resolve(dirname(file), path)] as const] : [];
  });
  return { ...values, ...Object.fromEntries(paths) };
}
