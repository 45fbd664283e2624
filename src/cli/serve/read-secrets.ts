import { isTable, type Refuse } from "../../server/access/read-rights.ts";
import { secretFault } from "../../server/secrets/check-secret.ts";
import type { SecretOptions } from "../../server/settings/secret-options.ts";

const KEYS = ["name", "as", "hosts", "from", "variable", "path", "command", "header", "prefix", "local"];
const MAX_SECRETS = 1_024;

/** Reads `[[secret]]`. */
export function readSecrets(value: unknown, refuse: Refuse): readonly SecretOptions[] {
  if (!Array.isArray(value) || !value.every(isTable)) throw refuse("secret", "must be a table: [[secret]]");
  if (value.length > MAX_SECRETS) throw refuse("secret", `has more than ${MAX_SECRETS} tables`);
  const names = new Set<unknown>();
  for (const table of value) {
    const unknown = Object.keys(table).find((key) => !KEYS.includes(key));
    if (unknown !== undefined) throw refuse(`secret.${unknown}`, "is not a known key");
    const fault = secretFault(table);
    if (fault !== undefined) throw refuse(`secret.${fault.key}`, fault.why);
    if (names.has(table["name"])) throw refuse("secret.name", `'${String(table["name"])}' is used twice`);
    names.add(table["name"]);
  }
  return value as unknown as readonly SecretOptions[];
}
