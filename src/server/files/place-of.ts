import type { Place } from "../../capabilities/files/place.ts";
import type { FileClient } from "./file-client.ts";
import type { Places } from "./places.ts";

interface PathParams {
  readonly path: string;
  readonly noLinks?: boolean | null | undefined;
}

/** The place that a request names. Its policy has been dealt with. */
export type PlaceOf = (client: FileClient, params: PathParams) => Place;

export function placesOfRequests(places: Places): PlaceOf {
  return (client, { path, noLinks }) => {
    const place = places.at(path, client);
    return noLinks === true ? place.withoutLinks() : place;
  };
}

/** Links are followed by default. */
export function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}
