import {
  createDirectory,
  type DirectoryEntry,
  readDirectory,
  readDirectoryDetails,
} from "../../capabilities/files/directories.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { checkWalkLimits, walk } from "../../capabilities/files/walk.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import { linksOf, type Locate } from "./locate.ts";

/** Methods that create and list directories. */
export function directoryHandlers(locate: Locate) {
  return {
    "fs/createDirectory": (client, params) => {
      const location = locate(client, params);
      return inFiles(() => {
        const created = createDirectory(location, {
          recursive: params.recursive ?? true,
          ...linksOf(params),
        });
        return created === undefined ? {} : created.then(() => ({}));
      });
    },

    "fs/readDirectory": (client, params) => {
      const location = locate(client, params);
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
      const location = locate(client, params);
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
