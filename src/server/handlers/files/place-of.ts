import type { Place } from "../../../capabilities/files/place.ts";
import type { Places } from "../../files/places.ts";
import { refuseProtection } from "../../refuse-protection.ts";

/** The place that a request names. A request for unsupported protection is refused first. */
export type PlaceOf = (params: { path: string; sandbox?: Sandbox }) => Place;

type Sandbox = Parameters<typeof refuseProtection>[0]["sandbox"];

export function placesOfRequests(places: Places): PlaceOf {
  return ({ path, sandbox }) => {
    refuseProtection({ sandbox });
    return places.at(path);
  };
}

/** Links are followed by default. */
export function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}
