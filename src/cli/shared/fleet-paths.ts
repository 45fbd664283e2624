import type { FleetAddress } from "../../fleet/fleet-address.ts";
import { pathsFrom } from "./paths-from.ts";

const PATHS = ["credentials", "nkey", "ca", "cert", "key"] as const;

/** The paths of a fleet that is described in `file`: they are relative to its directory. */
export function resolveFleetPaths<Fleet extends Pick<FleetAddress, (typeof PATHS)[number]>>(
  fleet: Fleet,
  file: string,
): Fleet {
  return pathsFrom(file, fleet, PATHS);
}
