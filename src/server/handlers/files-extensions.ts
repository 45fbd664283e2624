import { rename } from "node:fs/promises";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";
import { decodePath } from "../path-param.ts";
import { refuseProtection } from "../refuse-protection.ts";

export function fileExtensionHandlers() {
  return {
    "fs/rename": (_, { from, to, sandbox }) => {
      refuseProtection({ sandbox });
      const paths = [decodePath(from), decodePath(to)] as const;
      return inFiles(async () => {
        await rename(...paths);
        return {};
      });
    },
  } satisfies Handlers<ClientConnection>;
}
