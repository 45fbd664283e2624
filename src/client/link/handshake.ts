import { formatDuration } from "../../base/duration.ts";
import { ConnectionError, ProtocolError, RpcError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";
import type { Connector } from "./connectors.ts";
import { abortable, within } from "../../base/deadlines.ts";
import { checkedResult } from "../calls/wire-check.ts";

/** The client's name, and its timeouts. */
export interface HandshakeOptions {
  readonly clientName: string;
  /** Has the server report starts; see `ConnectOptions`. */
  readonly reportStarts?: boolean;
  /** Parameters of `initialize` in place of the usual ones. */
  readonly greeting?: Readonly<Record<string, unknown>>;
  readonly connectTimeoutMs: number;
  readonly initializeTimeoutMs: number;
}

/** A session and the link it was opened on. */
export interface OpenedSession extends Result<"initialize"> {
  readonly link: Link;
}

/** Opens a link and a session on it, new or resumed. Leaves nothing open on failure. */
export async function openSession(
  connector: Connector,
  events: LinkEvents,
  options: HandshakeOptions & { readonly resumeSessionId: string | undefined; readonly signal: AbortSignal },
): Promise<OpenedSession> {
  const link = await openLink(connector, events, options);
  try {
    const { initializeTimeoutMs: timeoutMs, signal } = options;
    const late = timedOut("waiting for exec-server initialize handshake", timeoutMs);
    const answer = await abortable(within(initialize(link, options), timeoutMs, late), signal);
    link.expectLife?.();
    return { link, ...answer };
  } catch (error) {
    link.destroy();
    throw error;
  }
}

/** An opener may ignore its signal, and may never settle. A link that it opens too late is closed again. */
export async function openLink(
  connector: Connector,
  events: LinkEvents,
  { signal, connectTimeoutMs }: { readonly connectTimeoutMs: number; readonly signal: AbortSignal },
): Promise<Link> {
  let isLate = false;
  const opening = connector.open(events, signal).then((link) => {
    if (isLate) link.destroy();
    return link;
  });
  try {
    const late = timedOut("connecting to exec-server", connectTimeoutMs);
    return await abortable(within(opening, connectTimeoutMs, late), signal);
  } catch (error) {
    isLate = true;
    opening.catch(() => {});
    throw error;
  }
}

function timedOut(doing: string, timeoutMs: number): () => ConnectionError {
  const message = `timed out ${doing} after ${formatDuration(timeoutMs)}`;
  return () => new ConnectionError(message, { code: "TIMED_OUT" });
}

async function initialize(
  link: Link,
  {
    clientName,
    reportStarts = false,
    greeting = { clientName, urgentInput: true, ...(reportStarts ? { reportStarts } : {}) },
    resumeSessionId,
  }: HandshakeOptions & { readonly resumeSessionId: string | undefined },
): Promise<Result<"initialize">> {
  const params = {
    ...greeting,
    ...(resumeSessionId === undefined ? {} : { resumeSessionId }),
  };
  const result = await link.request("initialize", params).catch((error: unknown) => {
    throw withoutSessionId(error, resumeSessionId);
  });
  const answer = checkedResult("initialize", withSession(result));
  if (resumeSessionId !== undefined && answer.sessionId !== resumeSessionId)
    throw new ProtocolError("the server's answer to initialize names a different session");
  link.notify("initialized", {});
  return answer;
}

/** Older servers have no sessions and answer `{}`. */
function withSession(result: unknown): unknown {
  const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
  return isObject && !("sessionId" in result) ? { ...result, sessionId: "" } : result;
}

/** Servers name the session that they refuse. Its id is a secret, and messages end up in logs. */
function withoutSessionId(error: unknown, sessionId: string | undefined): unknown {
  if (!(error instanceof RpcError) || !sessionId || !error.message.includes(sessionId)) return error;
  return new RpcError(error.rpcCode, error.message.replaceAll(sessionId, "…"), {
    data: error.data,
    code: error.code,
  });
}
