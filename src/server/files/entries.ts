import { uriFromPath } from "../../base/file-uri.ts";
import { chmod } from "../../capabilities/files/chmod.ts";
import { copy } from "../../capabilities/files/copy.ts";
import {
  createDirectory,
  type DirectoryEntry,
  readDirectory,
  readDirectoryDetails,
} from "../../capabilities/files/directories.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { createLink, readLink } from "../../capabilities/files/links.ts";
import { type Metadata, readMetadata } from "../../capabilities/files/metadata.ts";
import { remove } from "../../capabilities/files/remove.ts";
import { rename } from "../../capabilities/files/rename.ts";
import { checkWalkLimits, walk } from "../../capabilities/files/walk.ts";
import type { Params } from "../../protocol/index.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import { linksOf, type Locations } from "./locations.ts";

const noResult = () => ({});

/** Methods for any kind of entry: describe, link, move, copy and remove; and those that create and list directories. */
export function entryHandlers(locations: Locations) {
  return {
    "fs/getMetadata": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(() => metadataOnWire(readMetadata(location, linksOf(params)), params));
    },

    "fs/canonicalize": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(async () => ({ path: uriFromPath(await location.realPath()) }));
    },

    "fs/chmod": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(() => {
        chmod(location, params.mode);
        return {};
      });
    },

    "fs/symlink": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(() => {
        createLink(location, params.target, { replace: params.replace ?? false });
        return {};
      });
    },

    "fs/readLink": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(() => ({ target: readLink(location) }));
    },

    "fs/rename": (client, { from, to, noLinks }) => {
      const source = locations.locate(client, { path: from, noLinks });
      const destination = locations.locate(client, { path: to, noLinks });
      return inFiles(() => rename(source, destination).then(noResult));
    },

    "fs/copy": (client, { sourcePath, destinationPath, recursive }) => {
      const source = locations.locate(client, { path: sourcePath });
      const destination = locations.locate(client, { path: destinationPath });
      const { signal } = client;
      return inFiles(() => copy(source, destination, { recursive, signal }).then(noResult));
    },

    "fs/remove": (client, params) => {
      const location = locations.locate(client, params);
      const { recursive, force } = params;
      const { signal } = client;
      const options = { recursive: recursive ?? true, force: force ?? true, signal, ...linksOf(params) };
      return inFiles(() => remove(location, options).then(noResult));
    },

    "fs/createDirectory": (client, params) => {
      const location = locations.locate(client, params);
      const options = { recursive: params.recursive ?? true, ...linksOf(params) };
      return inFiles(() => createDirectory(location, options)?.then(noResult) ?? {});
    },

    "fs/readDirectory": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(async () =>
        params.detailed === true
          ? { entries: await readDirectoryDetails(location) }
          : entriesJson(await readDirectory(location)),
      );
    },

    "fs/walk": (client, params) => {
      const { pruneHiddenDirectories = false, ...limits } = params.options;
      const options = { ...limits, pruneHiddenDirectories };
      checkWalkLimits(options);
      const location = locations.locate(client, params);
      return inFiles(async () => {
        const { entries, errors, truncated } = await walk(location, options);
        return {
          entries: entries.map((entry) => ({ path: entry.location.uri, kind: entry.kind })),
          errors: errors.map((entry) => ({ path: entry.location.uri, message: entry.message })),
          truncated,
        };
      });
    },
  } satisfies Handlers<FileClient>;
}

export function metadataOnWire(
  { mode, ...metadata }: Metadata,
  { includeMode }: Pick<Params<"fs/getMetadata">, "includeMode">,
) {
  return { ...metadata, createdAtMs: 0, ...(includeMode === true ? { mode } : {}) };
}

/** Characters that JSON leaves unescaped. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Directories can have many thousand entries; one growing string takes less than half the time of `JSON.stringify`. */
function entriesJson(entries: readonly DirectoryEntry[]): JsonText {
  let json = "";
  for (const { fileName, isDirectory, isFile } of entries) {
    const name = PLAIN_TEXT.test(fileName) ? `"${fileName}"` : JSON.stringify(fileName);
    json += `${json === "" ? "" : ","}{"fileName":${name},"isDirectory":${isDirectory},"isFile":${isFile}}`;
  }
  return new JsonText(`{"entries":[${json}]}`);
}
