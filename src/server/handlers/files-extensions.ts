import { rename } from "node:fs/promises";
import type { FileAccess } from "../../capabilities/files/file-access.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";
import { FileWatches } from "../file-watches.ts";
import { decodePath } from "../path-param.ts";
import { refuseProtection } from "../refuse-protection.ts";

export function fileExtensionHandlers(access: FileAccess) {
  return {
    "fs/rename": (_, { from, to, sandbox }) => {
      refuseProtection({ sandbox });
      const [source, destination] = [decodePath(from), decodePath(to)];
      return inFiles(async () => {
        access.checkRemoval(source);
        await access.onEntry(source, (here) => access.onEntry(destination, (there) => rename(here, there)));
        return {};
      });
    },

    "fs/watch": (client, { watchId, path, recursive, sandbox }) => {
      refuseProtection({ sandbox });
      const native = decodePath(path);
      return inFiles(async () => {
        await watchesOf(client).add(watchId, native, { recursive: recursive ?? false });
        return {};
      });
    },

    "fs/unwatch": (client, { watchId }) => {
      watchesOf(client).remove(watchId);
      return {};
    },
  } satisfies Handlers<ClientConnection>;
}

const watches = new WeakMap<ClientConnection, FileWatches>();

function watchesOf(client: ClientConnection): FileWatches {
  const found = watches.get(client) ?? new FileWatches(client);
  watches.set(client, found);
  return found;
}
