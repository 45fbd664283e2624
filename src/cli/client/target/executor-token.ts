import type { NamedFleet } from "./target.ts";
import { readToken } from "./read-token.ts";
import type { TargetOptions } from "./target-options.ts";
import { noteTokenSource } from "../outcome/token-remedy.ts";

/** The token for the executors of a fleet: of the command line, then of hosts.toml. That of the environment is for a URL. */
export function executorToken(
  { name, token }: Pick<NamedFleet, "name" | "token">,
  { tokenFile }: Pick<TargetOptions, "tokenFile">,
): string | undefined {
  noteTokenSource(`as auth_bearer_token of [fleets.${name}] in hosts.toml`);
  return tokenFile === undefined ? token : readToken(tokenFile);
}
