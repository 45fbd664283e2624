import { uriFromPath } from "../../../base/file-uri.ts";
import { chmod } from "../../../capabilities/files/chmod.ts";
import { copy } from "../../../capabilities/files/copy.ts";
import { inFiles } from "../../../capabilities/files/file-error.ts";
import { createLink, readLink } from "../../../capabilities/files/links.ts";
import { readMetadata } from "../../../capabilities/files/metadata.ts";
import { remove } from "../../../capabilities/files/remove.ts";
import { rename } from "../../../capabilities/files/rename.ts";
import type { Handlers } from "../../../rpc/router.ts";
import type { ClientConnection } from "../../connection/client-connection.ts";
import { linksOf, type PlaceOf } from "./place-of.ts";

/** Methods for any kind of entry: describe, link, move, copy and remove. */
export function entryHandlers(placeOf: PlaceOf) {
  return {
    "fs/getMetadata": (_, params) => {
      const place = placeOf(params);
      return inFiles(() => {
        const { mode, ...found } = readMetadata(place, linksOf(params));
        return { ...found, createdAtMs: 0, ...(params.includeMode === true ? { mode } : {}) };
      });
    },

    "fs/canonicalize": (_, params) => {
      const place = placeOf(params);
      return inFiles(async () => ({ path: uriFromPath(await place.realPath()) }));
    },

    "fs/chmod": (_, params) => {
      const place = placeOf(params);
      return inFiles(() => {
        chmod(place, params.mode);
        return {};
      });
    },

    "fs/symlink": (_, params) => {
      const place = placeOf(params);
      return inFiles(() => {
        createLink(place, params.target, { replace: params.replace ?? false });
        return {};
      });
    },

    "fs/readLink": (_, params) => {
      const place = placeOf(params);
      return inFiles(() => ({ target: readLink(place) }));
    },

    "fs/rename": (_, { from, to, sandbox }) => {
      const source = placeOf({ path: from, sandbox });
      const destination = placeOf({ path: to, sandbox });
      return inFiles(async () => {
        await rename(source, destination);
        return {};
      });
    },

    "fs/copy": (_, { sourcePath, destinationPath, recursive, sandbox }) => {
      const source = placeOf({ path: sourcePath, sandbox });
      const destination = placeOf({ path: destinationPath, sandbox });
      return inFiles(async () => {
        await copy(source, destination, { recursive });
        return {};
      });
    },

    "fs/remove": (_, params) => {
      const place = placeOf(params);
      return inFiles(async () => {
        const { recursive, force } = params;
        await remove(place, { recursive: recursive ?? true, force: force ?? true, ...linksOf(params) });
        return {};
      });
    },
  } satisfies Handlers<ClientConnection>;
}
