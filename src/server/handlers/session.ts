import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { V0_PROTOCOL_VERSION } from "../../protocol/command-v0.ts";
import type { Result } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { Session } from "../sessions/session.ts";
import type { ClientConnection } from "../connection/client-connection.ts";

export function sessionHandlers(environmentInfo: EnvironmentInfo) {
  const answer = ({ id }: Session): Result<"initialize"> => ({
    sessionId: id,
    environmentInfo,
    protocolVersion: V0_PROTOCOL_VERSION,
  });
  return {
    initialize: (client, { resumeSessionId, urgentInput }) => {
      const session = client.initialize({
        resumeSessionId: resumeSessionId ?? undefined,
        urgentInput: urgentInput ?? false,
      });
      return session instanceof Promise ? session.then(answer) : answer(session);
    },
  } satisfies Handlers<ClientConnection>;
}
