import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";

export function environmentHandlers(environmentInfo: EnvironmentInfo) {
  return {
    "environment/info": () => environmentInfo,
    "environment/status": () => ({ status: "ready" }),
  } satisfies Handlers<ClientConnection>;
}
