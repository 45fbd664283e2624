import type { Location } from "../../capabilities/files/location.ts";
import type { FileClient } from "./file-client.ts";
import type { Locations } from "./locations.ts";

interface PathParams {
  readonly path: string;
  readonly noLinks?: boolean | null | undefined;
}

/** The location that a request names. Its policy has been dealt with. */
export type Locate = (client: FileClient, params: PathParams) => Location;

export function requestLocator(locations: Locations): Locate {
  return (client, { path, noLinks }) => {
    const location = locations.at(path, client);
    return noLinks === true ? location.withoutLinks() : location;
  };
}

/** Links are followed by default. */
export function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}
