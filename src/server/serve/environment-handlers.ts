import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../clients/client-connection.ts";

/** Requested often, and constant. */
const READY = new JsonText('{"status":"ready"}');

export function environmentHandlers(environmentInfo: () => EnvironmentInfo) {
  return {
    "environment/info": environmentInfo,

    "environment/status": () => READY,
  } satisfies Handlers<ClientConnection>;
}
