import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { Console } from "./console.ts";

/** Makes links to the web console. */
export type ConsoleLinks = Pick<Console, "createLink">;

/** Only for servers that have a console. */
export function consoleHandlers(links: ConsoleLinks) {
  return {
    "console/link": (client) => links.createLink(client.credential),
  } satisfies Handlers<ClientConnection>;
}
