import { join } from "node:path";
import { ownAccount } from "../../native/account.ts";

/** Path of the user's hosts.toml, whether or not it exists. */
export function hostsPath(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME, HOME } = environment;
  if (XDG_CONFIG_HOME?.startsWith("/")) return join(XDG_CONFIG_HOME, "exec-server", "hosts.toml");
  const home = HOME || ownAccount()?.home || "/";
  return join(home, ".config", "exec-server", "hosts.toml");
}
