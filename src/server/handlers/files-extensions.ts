import { inFiles } from "../../capabilities/files/file-error.ts";
import { rename } from "../../capabilities/files/rename.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";
import { FileWatches } from "../file-watches.ts";
import type { Places } from "../places.ts";
import { refuseProtection } from "../refuse-protection.ts";

export function fileExtensionHandlers(places: Places) {
  return {
    "fs/rename": (_, { from, to, sandbox }) => {
      refuseProtection({ sandbox });
      const [source, destination] = [places.at(from), places.at(to)];
      return inFiles(async () => {
        await rename(source, destination);
        return {};
      });
    },

    "fs/watch": (client, { watchId, path, recursive, sandbox }) => {
      refuseProtection({ sandbox });
      const place = places.at(path);
      return inFiles(async () => {
        await watchesOf(client).add(watchId, place, { recursive: recursive ?? false });
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
