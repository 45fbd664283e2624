import { RpcError } from "../../base/errors.ts";
import { type Params, type Result, RpcCode } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../connection/client-connection.ts";
import { unknownProcess, visible } from "../processes/known-process.ts";
import { whenStarted } from "../processes/when-started.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";

export function processAttachHandlers(sessions: SessionRegistry) {
  return {
    "process/attach": ({ session }, params) => {
      const owner = typeof params.sessionId === "string" ? sessions.get(params.sessionId) : session;
      return whenStarted(owner, params.processId, () => attach(session, owner, params));
    },

    "process/detach": (client, { processId }) =>
      whenStarted(client.session, processId, () => {
        if (!client.session.isFollowed(processId)) visible(client, processId);
        client.session.unfollow(processId);
        return {};
      }),
  } satisfies Handlers<ClientConnection>;
}

function attach(
  session: Session,
  owner: Session,
  params: Params<"process/attach">,
): Result<"process/attach"> {
  const { processId } = params;
  const fromSeq = params.fromSeq ?? undefined;
  const id = params.as ?? processId;
  const entry = owner.processes.get(processId);
  if (entry === undefined) throw unknownProcess(processId);
  if (owner === session && id !== processId)
    throw new RpcError(
      RpcCode.invalidParams,
      `process/attach ${processId}: it has its own id in this session`,
    );
  if (isTaken(session, id, { own: owner === session }))
    throw new RpcError(
      RpcCode.invalidRequest,
      `process/attach ${processId}: the id ${id} is in use on this connection`,
    );
  if (owner === session) session.follow(id, entry, fromSeq);
  else session.followGuest(id, { owner, processId, entry }, fromSeq);
  const { nextSeq, exitCode, closed } = entry.process.state;
  const tty = entry.process.terminal !== undefined;
  return { processId: id, nextSeq, tty, exited: exitCode !== undefined, closed };
}

/** A process of the session may be attached again under its own id. */
function isTaken(session: Session, id: string, { own }: { own: boolean }): boolean {
  if (
    session.isFollowed(id) ||
    session.guest(id) !== undefined ||
    session.processes.starting(id) !== undefined
  )
    return true;
  return !own && session.processes.get(id) !== undefined;
}
