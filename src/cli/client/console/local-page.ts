import { messageOf } from "../../../base/errors.ts";
import { silentLogger } from "../../../base/logger.ts";
import type { OpenTransport } from "../../../client/link/connectors.ts";
import { refuseOtherUser } from "../../../server/access/local-users.ts";
import { RefusalLog } from "../../../server/access/refusal-log.ts";
import { Console } from "../../../server/console/console.ts";
import type { Transport } from "../../../transport/transport.ts";
import { listenWebSocket } from "../../../transport/websocket/websocket-server.ts";
import { describeFileError, Failure } from "../../shared/failure.ts";
import { VERSION } from "../../shared/version.ts";
import { complain } from "../print/complain.ts";
import { carryMessages } from "./carry-messages.ts";

/** The server cannot be reached now; the page tries again. */
const TRY_AGAIN = 1013;
const MAX_REASON_BYTES = 123;

/** A page that this program serves. */
export interface LocalPage {
  /** A new link to it, which works once. */
  link(): string;
}

export interface LocalPageOptions {
  /** The command that opened it, which also creates another link. */
  readonly command: string;
  /** The page's subject. Default: the name of this machine. */
  readonly name?: string | undefined;
  /** File of another page than the usual one. */
  readonly index?: string;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Connects to the server whose ports the page may open. Default: none. */
  readonly server?: OpenTransport;
}

/** Takes a connection of the page. `failed` says so on the terminal, once for each reason. */
export type TakePage = (page: Transport, failed: (reason: string) => void) => void;

/**
 * Serves the web console on a loopback port of this machine, until this program ends. Only its page gets a
 * connection.
 */
export async function serveLocalPage(
  take: TakePage,
  { command, name, index, port = 0, server }: LocalPageOptions,
): Promise<LocalPage> {
  const log = new RefusalLog(silentLogger);
  let last: string | undefined;
  // A page tries again and again.
  const complainOnce = (reason: string): void => {
    if (reason !== last) complain(reason);
    last = reason;
  };
  const console = new Console(
    {},
    {
      logger: silentLogger,
      version: VERSION,
      isLocal: true,
      publicUrls: [],
      takesTokens: false,
      command,
      name,
      index,
      connect: server && ((_, signal) => server(signal)),
      refused: (reason) => complainOnce(reason),
    },
  );
  const listener = await listenWebSocket({
    host: "127.0.0.1",
    port,
    site: console,
    authenticate: async () => ({ refusal: "only the web console may connect here" }),
    authenticatePage: (presented) => console.admit(presented),
    // On other systems, the owner of a connection cannot be found.
    ...(process.platform === "linux" ? { excludeUser: async (ends) => refuseOtherUser(ends, log) } : {}),
    accept: (page) => take(page, complainOnce),
  }).catch((error: unknown) => {
    throw new Failure(`cannot serve the web console on port ${port}: ${describeFileError(error)}`);
  });
  console.listensOn(listener.url);
  return { link: () => console.link() };
}

/** Carries the connections of a page to a server that no browser can reach. */
export function carriedTo(open: OpenTransport): TakePage {
  return (page, failed) => void carry(page, open, failed);
}

async function carry(page: Transport, open: OpenTransport, failed: (reason: string) => void): Promise<void> {
  try {
    await carryMessages(page, open);
  } catch (error) {
    const reason = messageOf(error);
    failed(reason);
    page.close({
      code: TRY_AGAIN,
      reason: Buffer.from(reason).subarray(0, MAX_REASON_BYTES).toString("latin1"),
    });
  }
}
