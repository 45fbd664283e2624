import { join } from "node:path";
import { ownAccount } from "../../native/account.ts";

/** Where the key of the console is kept for all servers of the user. Undefined without a home. */
export function consoleKeyPath(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { XDG_STATE_HOME, HOME } = environment;
  if (XDG_STATE_HOME?.startsWith("/")) return join(XDG_STATE_HOME, "exec-server", "console.key");
  const home = HOME?.startsWith("/") ? HOME : ownAccount()?.home;
  return home === undefined ? undefined : join(home, ".local", "state", "exec-server", "console.key");
}
