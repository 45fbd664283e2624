import { join } from "node:path";
import { ownAccount } from "../../native/account.ts";

/** Directory for keys that all programs of the user share. Undefined without a home. */
export function stateDirectory(): string | undefined {
  const { XDG_STATE_HOME, HOME } = process.env;
  if (XDG_STATE_HOME?.startsWith("/")) return join(XDG_STATE_HOME, "exec-server");
  const home = HOME?.startsWith("/") ? HOME : ownAccount()?.home;
  return home === undefined ? undefined : join(home, ".local", "state", "exec-server");
}
