import { dirname, resolve } from "node:path";
import type { FleetAddress } from "../fleet/fleet-address.ts";

const PATHS = ["credentials", "nkey", "ca", "cert", "key"] as const;

/** The paths of a fleet that is described in `file`: they are relative to its directory. */
export function resolveFleetPaths<Fleet extends Pick<FleetAddress, (typeof PATHS)[number]>>(
  fleet: Fleet,
  file: string,
): Fleet {
  const paths = PATHS.flatMap((key) => {
    const path = fleet[key];
    return path === undefined ? [] : [[key, resolve(dirname(file), path)] as const];
  });
  return { ...fleet, ...Object.fromEntries(paths) };
}
