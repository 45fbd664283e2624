import { rename } from "node:fs/promises";
import type { FileAccess } from "../../capabilities/files/file-access.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";
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
  } satisfies Handlers<ClientConnection>;
}
