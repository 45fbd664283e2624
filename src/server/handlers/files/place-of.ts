import type { Place } from "../../../capabilities/files/place.ts";
import type { FileClient } from "../../files/file-client.ts";
import type { Places } from "../../files/places.ts";

/** The place that a request names. Its policy has been dealt with. */
export type PlaceOf = (client: FileClient, params: { path: string }) => Place;

export function placesOfRequests(places: Places): PlaceOf {
  return (client, { path }) => places.at(path, client);
}

/** Links are followed by default. */
export function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}
