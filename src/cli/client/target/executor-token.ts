import type { NamedFleet } from "../hosts/find-fleet.ts";
import { readToken } from "./read-token.ts";
import type { TargetOptions } from "./target-options.ts";

/** The token for the executors of a fleet: of the command line, then of hosts.toml, then of the environment. */
export function executorToken(
  { token }: Pick<NamedFleet, "token">,
  { tokenFile }: Pick<TargetOptions, "tokenFile">,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  if (tokenFile !== undefined) return readToken(tokenFile);
  return token ?? (environment["EXEC_SERVER_TOKEN"] || undefined);
}
