import { isSecret } from "../../../rows/agents/model/hidden-key.ts";
import { usageFailure } from "../outcome/failure.ts";
import { variables } from "../running/start-options.ts";

/** Names that servers do not let processes inherit either. */
const SECRET = /KEY|SECRET|TOKEN/i;

/**
 * The environment of the commands of agents: what is given, and on the user's own server what this shell has, without
 * names that look like secrets. The key of the model is never part of it.
 */
export function agentEnvironment(
  given: readonly string[],
  { isOwn, apiKey }: { readonly isOwn: boolean; readonly apiKey: string | undefined },
): Record<string, string> {
  const inherited = isOwn
    ? Object.entries(process.env).filter(([name, value]) => !SECRET.test(name) && value !== apiKey)
    : [];
  const named = variables(given);
  const leaking =
    apiKey === undefined || !isSecret(apiKey) ? undefined : named.find(([, value]) => value.includes(apiKey));
  if (leaking !== undefined)
    throw usageFailure(`--env ${leaking[0]} would give the agents the key of their model; leave it out`);
  return Object.fromEntries([...inherited, ...named]) as Record<string, string>;
}
