import { RpcError } from "../../base/errors.ts";
import { type Params, type Result, RpcCode } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import { permissionDenied } from "../access/check-rights.ts";
import { principalNamed } from "../access/rights.ts";
import type { ClientConnection } from "./client-connection.ts";
import { hasRightsOf, modeFor } from "../sessions/kept-access.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import { unknownProcess, visible, whenStarted } from "./known-process.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";
import { refusal, invalidParams } from "../wire/refusals.ts";
import { Attachment } from "../sessions/attachment.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";

type AttachParams = Params<"process/attach">;
type AttachResult = Result<"process/attach">;

export interface AttachOptions {
  readonly sessions: SessionRegistry;
  readonly kept: KeptProcesses;
}

export function processAttachHandlers({ sessions, kept }: AttachOptions) {
  return {
    "process/attach": (client, params) => {
      if (typeof params.name === "string") return attachKept(client, kept, params, params.name);
      const { session } = client;
      const { processId, mode } = params;
      if (typeof processId !== "string") throw invalidParams("missing field `processId` or `name`");
      if (mode === "control") throw invalidParams("mode control needs the name of a kept process");
      const owner = typeof params.sessionId === "string" ? sessions.get(params.sessionId, client) : session;
      return whenStarted(owner, processId, () => attach(session, owner, { ...params, processId }));
    },

    "process/detach": (client, { processId, forget }) =>
      whenStarted(client.session, processId, () => {
        const { session } = client;
        if (!session.isFollowed(processId)) visible(client, processId);
        const attached = session.attached(processId);
        if (forget === true && !(attached?.isKept === true && attached.mode === "control"))
          throw invalidParams("forget needs a kept process that this connection controls");
        session.unfollow(processId);
        if (forget === true) attached?.forget();
        return {};
      }),

    "process/rename": (client, { processId, name }) =>
      whenStarted(client.session, processId, () => {
        const attached = client.session.attached(processId);
        if (attached?.owner === undefined || attached.mode !== "control" || !attached.isKnown)
          throw invalidParams("only a kept process that this connection controls can be renamed");
        kept.rename(attached.owner, attached.entry, name);
        return {};
      }),
  } satisfies Handlers<ClientConnection>;
}

function attach(
  session: Session,
  owner: Session,
  params: AttachParams & { readonly processId: string },
): AttachResult {
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
  if (isTaken(session, id, { own: owner === session })) throw taken(processId, id);
  if (owner === session) {
    session.follow(id, entry, fromSeq);
  } else {
    session.checkAttachments();
    session.followAttached(id, new Attachment({ table: owner.processes, entry }), fromSeq);
  }
  return answer(id, entry);
}

function attachKept(
  client: ClientConnection,
  kept: KeptProcesses,
  params: AttachParams,
  name: string,
): AttachResult | Promise<AttachResult> {
  if (typeof params.sessionId === "string" || typeof params.processId === "string")
    throw invalidParams("name cannot be combined with sessionId or processId");
  const { session } = client;
  const id = params.as ?? name;
  const mode = params.mode ?? "follow";
  const owner = typeof params.owner === "string" ? principalNamed(params.owner) : kept.ownerOf(name, client);
  const run = (): AttachResult => {
    const attached = kept.attachment(owner, name, { mode, connection: session });
    const most = attached && modeFor(client, owner, attached.entry);
    // To a client, what it may not see does not exist.
    if (attached === undefined || most === undefined) {
      const why = kept.whyForgotten(owner, name, client);
      throw refusal("NOT_FOUND", `there is no kept process ${name}${why === undefined ? "" : `; ${why}`}`);
    }
    if (mode === "control" && most === "follow")
      throw permissionDenied(
        hasRightsOf(client.rights, attached.entry)
          ? `process/attach ${name}: this client may only follow the processes of ${owner}`
          : `process/attach ${name}: it was started with rights that this client does not have, so this client may only follow it`,
      );
    const earlier = session.attached(id);
    const isRepeated = earlier?.entry === attached.entry && earlier.mode === mode;
    if (!isRepeated) {
      if (isTaken(session, id, { own: false })) throw taken(name, id);
      session.checkAttachments();
      session.followAttached(id, attached, params.fromSeq ?? undefined);
    }
    const others = owner === client.principal ? {} : { owner };
    return { ...answer(id, attached.entry), name, ...others };
  };
  const starts = { starting: (key: string) => kept.of(owner)?.starting(key) ?? session.starting(id) };
  return whenStarted(starts, name, run);
}

function answer(id: string, { process }: ProcessEntry): AttachResult {
  const { nextSeq, exitCode, closed } = process.state;
  return {
    processId: id,
    nextSeq,
    firstSeq: process.firstSeq,
    tty: process.terminal !== undefined,
    exited: exitCode !== undefined,
    closed,
  };
}

function taken(what: string, id: string): RpcError {
  return new RpcError(
    RpcCode.invalidRequest,
    `process/attach ${what}: the id ${id} is in use on this connection`,
  );
}

/** A process of the session may be attached again under its own id. */
function isTaken(session: Session, id: string, { own }: { own: boolean }): boolean {
  if (session.isFollowed(id) || session.attached(id) !== undefined || session.starting(id) !== undefined)
    return true;
  return !own && session.processes.get(id) !== undefined;
}
