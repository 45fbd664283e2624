import { formatDuration } from "../base/duration.ts";
import { ConnectionError, ProtocolError } from "../base/errors.ts";
import type { Result } from "../protocol/index.ts";
import type { Link, LinkEvents } from "../rpc/link.ts";
import type { Connector } from "./connector.ts";
import { abortable, within } from "./waiting.ts";

/** Who is calling, and for how long it waits. */
export interface HandshakeOptions {
  readonly clientName: string;
  readonly initializeTimeoutMs: number;
}

/** A session with the link that it was opened on. */
export interface OpenedSession extends Result<"initialize"> {
  readonly link: Link;
}

/** Opens a link and a session on it, new or resumed. Leaves nothing open when it fails. */
export async function openSession(
  connector: Connector,
  events: LinkEvents,
  options: HandshakeOptions & { readonly resumeSessionId: string | undefined; readonly signal: AbortSignal },
): Promise<OpenedSession> {
  const link = await connector.open(events, options.signal);
  try {
    const answer = await abortable(
      within(initialize(link, options), options.initializeTimeoutMs, () => {
        const duration = formatDuration(options.initializeTimeoutMs);
        return new ConnectionError(
          `timed out waiting for exec-server initialize handshake after ${duration}`,
        );
      }),
      options.signal,
    );
    return { link, ...answer };
  } catch (error) {
    link.destroy();
    throw error;
  }
}

async function initialize(
  link: Link,
  { clientName, resumeSessionId }: { clientName: string; resumeSessionId: string | undefined },
): Promise<Result<"initialize">> {
  const answer = (await link.request("initialize", {
    clientName,
    ...(resumeSessionId === undefined ? {} : { resumeSessionId }),
  })) as Partial<Result<"initialize">> | null;
  if (typeof answer?.sessionId !== "string")
    throw new ProtocolError("the server's answer to initialize has no session id");
  link.notify("initialized", {});
  return answer as Result<"initialize">;
}
