import type { Handlers } from "../../rpc/router.ts";
import type { Credential } from "../access/credential.ts";
import type { ClientConnection } from "../clients/client-connection.ts";

/** Makes links to the web console. */
export interface ConsoleLinks {
  createLink(credential: Credential): { readonly token: string; readonly expiresAtMs: number };
}

/** Only of servers that have a console. */
export function consoleHandlers(links: ConsoleLinks) {
  return {
    "console/link": (client) => links.createLink(client.credential),
  } satisfies Handlers<ClientConnection>;
}
