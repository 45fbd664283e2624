import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { V0_PROTOCOL_VERSION } from "../../protocol/command-v0.ts";
import type { Result } from "../../protocol/index.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { Session } from "../sessions/session.ts";
import type { ClientConnection } from "./client-connection.ts";

const MAX_NAME_CHARACTERS = 256;
/** Requested often, and constant. */
const READY = new JsonText('{"status":"ready"}');

/** The handshake, and its description of the environment. */
export function sessionHandlers(environmentInfo: () => EnvironmentInfo) {
  const answer = (session: Session, clientName: string): Result<"initialize"> => {
    session.clientName = clientName.slice(0, MAX_NAME_CHARACTERS);
    return {
      sessionId: session.id,
      environmentInfo: environmentInfo(),
      protocolVersion: V0_PROTOCOL_VERSION,
    };
  };
  return {
    initialize: (client, params) => {
      const { clientName } = params;
      const session = client.initialize(params);
      return session instanceof Promise
        ? session.then((resumed) => answer(resumed, clientName))
        : answer(session, clientName);
    },

    "environment/info": environmentInfo,

    "environment/status": () => READY,
  } satisfies Handlers<ClientConnection>;
}
