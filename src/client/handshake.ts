import { formatDuration } from "../base/duration.ts";
import { ConnectionError } from "../base/errors.ts";
import type { Result } from "../protocol/index.ts";
import type { Link, LinkEvents } from "../rpc/link.ts";
import type { Connector } from "./connector.ts";
import { abortable, within } from "./waiting.ts";
import { checkedResult } from "./wire-check.ts";

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
  const params = { clientName, ...(resumeSessionId === undefined ? {} : { resumeSessionId }) };
  const answer = checkedResult("initialize", await link.request("initialize", params));
  link.notify("initialized", {});
  return answer;
}
