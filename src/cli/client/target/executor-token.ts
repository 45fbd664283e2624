import type { NamedFleet } from "../hosts/find-fleet.ts";
import { readToken } from "./read-token.ts";
import type { TargetOptions } from "./target-options.ts";

/** The token for the executors of a fleet: of the command line, then of hosts.toml. That of the environment is for a URL. */
export function executorToken(
  { token }: Pick<NamedFleet, "token">,
  { tokenFile }: Pick<TargetOptions, "tokenFile">,
): string | undefined {
  return tokenFile === undefined ? token : readToken(tokenFile);
}
