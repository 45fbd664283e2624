import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { V0_PROTOCOL_VERSION } from "../../protocol/command.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";

export function sessionHandlers(environmentInfo: EnvironmentInfo) {
  return {
    initialize: (client, { resumeSessionId }) => {
      const session = client.initialize(resumeSessionId ?? undefined);
      return { sessionId: session.id, environmentInfo, protocolVersion: V0_PROTOCOL_VERSION };
    },
  } satisfies Handlers<ClientConnection>;
}
