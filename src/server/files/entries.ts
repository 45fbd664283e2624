import { uriFromPath } from "../../base/file-uri.ts";
import { chmod } from "../../capabilities/files/chmod.ts";
import { copy } from "../../capabilities/files/copy.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { createLink, readLink } from "../../capabilities/files/links.ts";
import { type Metadata, readMetadata } from "../../capabilities/files/metadata.ts";
import { remove } from "../../capabilities/files/remove.ts";
import { rename } from "../../capabilities/files/rename.ts";
import type { Params } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import { linksOf, type Locate } from "./locate.ts";

/** Methods for any kind of entry: describe, link, move, copy and remove. */
export function entryHandlers(locate: Locate) {
  return {
    "fs/getMetadata": (client, params) => {
      const location = locate(client, params);
      return inFiles(() => metadataOnWire(readMetadata(location, linksOf(params)), params));
    },

    "fs/canonicalize": (client, params) => {
      const location = locate(client, params);
      return inFiles(async () => ({ path: uriFromPath(await location.realPath()) }));
    },

    "fs/chmod": (client, params) => {
      const location = locate(client, params);
      return inFiles(() => {
        chmod(location, params.mode);
        return {};
      });
    },

    "fs/symlink": (client, params) => {
      const location = locate(client, params);
      return inFiles(() => {
        createLink(location, params.target, { replace: params.replace ?? false });
        return {};
      });
    },

    "fs/readLink": (client, params) => {
      const location = locate(client, params);
      return inFiles(() => ({ target: readLink(location) }));
    },

    "fs/rename": (client, { from, to, noLinks }) => {
      const source = locate(client, { path: from, noLinks });
      const destination = locate(client, { path: to, noLinks });
      return inFiles(async () => {
        await rename(source, destination);
        return {};
      });
    },

    "fs/copy": (client, { sourcePath, destinationPath, recursive }) => {
      const source = locate(client, { path: sourcePath });
      const destination = locate(client, { path: destinationPath });
      return inFiles(async () => {
        await copy(source, destination, { recursive });
        return {};
      });
    },

    "fs/remove": (client, params) => {
      const location = locate(client, params);
      return inFiles(async () => {
        const { recursive, force } = params;
        await remove(location, { recursive: recursive ?? true, force: force ?? true, ...linksOf(params) });
        return {};
      });
    },
  } satisfies Handlers<FileClient>;
}

export function metadataOnWire(
  { mode, ...found }: Metadata,
  { includeMode }: Pick<Params<"fs/getMetadata">, "includeMode">,
) {
  return { ...found, createdAtMs: 0, ...(includeMode === true ? { mode } : {}) };
}
