import type { FleetAddress } from "../../fleet/fleet-address.ts";
import { dirname, resolve } from "node:path";

/** The same values, except that paths under these keys, if they are relative, begin at the directory of `file`. */
export function pathsFrom<T extends object>(file: string, values: T, keys: readonly (keyof T & string)[]): T {
  const paths = keys.flatMap((key) => {
    const path = values[key];
    return typeof path === "string" ? [[key, resolve(dirname(file), path)] as const] : [];
  });
  return { ...values, ...Object.fromEntries(paths) };
}

const PATHS = ["credentials", "nkey", "ca", "cert", "key"] as const;

/** The paths of a fleet that is described in `file`: they are relative to its directory. */
export function resolveFleetPaths<Fleet extends Pick<FleetAddress, (typeof PATHS)[number]>>(
  fleet: Fleet,
  file: string,
): Fleet {
  return pathsFrom(file, fleet, PATHS);
}
