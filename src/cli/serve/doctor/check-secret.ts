import { silentLogger } from "../../../base/logger.ts";
import { readSource } from "../../../server/secrets/read-source.ts";
import { ServerSecret } from "../../../server/secrets/server-secret.ts";
import type { SecretOptions } from "../../../server/settings/secret-options.ts";
import { type Check, failed, passed } from "./check.ts";

/** Whether a secret of the server can be read now, and be hidden. */
export async function checkSecret(options: SecretOptions): Promise<Check> {
  const { name, from } = options;
  const read = (): Promise<string> => readSource(options, process.env);
  const secret = new ServerSecret({ name, from, read, logger: silentLogger });
  await secret.refresh();
  if (secret.fault === undefined) return passed("secret", `${name} can be read`);
  const remedy = "name where it is kept in [[secret]]: from, and variable, path or command";
  return failed("secret", `${name} cannot be used: ${secret.fault}`, remedy);
}
