import { messageOf } from "../../../base/errors.ts";
import { silentLogger } from "../../../base/logger.ts";
import type { OpenTransport } from "../../../client/connect/connectors.ts";
import { refuseOtherUser } from "../../../server/access/local-users.ts";
import { LoginLog } from "../../../server/access/refused-logins.ts";
import { Console } from "../../../server/console/console.ts";
import type { Transport } from "../../../transport/transport.ts";
import { listenWebSocket } from "../../../transport/websocket/websocket-server.ts";
import { VERSION } from "../../version.ts";
import { complain } from "../print/complain.ts";
import { carryMessages } from "./carry-messages.ts";

/** The server cannot be reached now; the page tries again. */
const TRY_AGAIN = 1013;
const MAX_REASON_BYTES = 123;

/**
 * Serves the web console on a free loopback port of this machine, for a server that no browser can reach. Each connection
 * of the page is carried to that server; nobody else gets one. Resolves with the link.
 */
export async function serveLocalPage(open: OpenTransport): Promise<string> {
  const log = new LoginLog(silentLogger);
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
      remedy: "get another one with: exec-server open --print",
      refused: (reason) => complainOnce(reason),
    },
  );
  const listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    site: console,
    authenticate: async () => ({ refusal: "only the web console connects here" }),
    authenticatePage: (presented) => console.admit(presented),
    // Elsewhere nobody can tell whose connection it is.
    ...(process.platform === "linux" ? { excludeUser: async (ends) => refuseOtherUser(ends, log) } : {}),
    accept: (page) => void connect(page, open, complainOnce),
  });
  console.listensOn(listener.url);
  return console.link();
}

async function connect(
  page: Transport,
  open: OpenTransport,
  failed: (reason: string) => void,
): Promise<void> {
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
