import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { SecretOptions } from "../settings/secret-options.ts";

/** What processes may inherit: without variables that contain a secret, whatever the client asks for. */
export function inheritable(environment: Environment, secrets: readonly SecretOptions[]): Environment {
  const hidden = secrets.flatMap(({ from, name, variable = name }) => {
    const value = from === "env" ? environment[variable]?.trim() : undefined;
    return value === undefined || value === "" ? [] : [value];
  });
  if (hidden.length === 0) return environment;
  const kept = Object.entries(environment).filter(
    ([, text]) => text === undefined || !hidden.some((value) => text.includes(value)),
  );
  return Object.assign(Object.create(null), Object.fromEntries(kept));
}
