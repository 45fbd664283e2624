import type { Host } from "../../client/browser.ts";
import { serverLink } from "./server-link.ts";

/** The connected server, in a view. After a restart of the server it is another one, and the view is shown anew. */
export function useHost(): Host {
  const host = serverLink.host.value;
  if (host === undefined) throw new Error("views are shown only with a host");
  return host;
}
