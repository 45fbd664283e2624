import type { Host } from "../../client/browser.ts";
import { serverLink } from "./server-link.ts";

/** The connected server, for views. After a restart it is a new one, and the view is rendered anew. */
export function useHost(): Host {
  const host = serverLink.host.value;
  if (host === undefined) throw new Error("views are shown only with a host");
  return host;
}
