import type { Place } from "../../../capabilities/files/place.ts";
import type { Places } from "../../files/places.ts";
import type { ProcessStart } from "../../../protocol/process.ts";
import { refuseSandbox } from "../../refuse-protection.ts";

/** The place that a request names. A request for unsupported protection is refused first. */
export type PlaceOf = (params: { path: string; sandbox?: Sandbox }) => Place;

type Sandbox = ProcessStart["sandbox"];

export function placesOfRequests(places: Places): PlaceOf {
  return ({ path, sandbox }) => {
    refuseSandbox(sandbox);
    return places.at(path);
  };
}

/** Links are followed by default. */
export function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}
