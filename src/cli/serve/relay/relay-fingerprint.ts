import { fingerprintOf, ownKeyPath } from "../../shared/relay-identity.ts";
import { print } from "../../shared/standard-streams.ts";
import { parseFlags } from "../flags.ts";
import { openIdentity, readExistingIdentity } from "../relay-keys.ts";

/** Prints the fingerprint of a key. Your own is created if there is none, so that an executor can be told of it. */
export async function printFingerprint(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: { identity: "PATH" } });
  const file = flags.get("identity");
  const secret = file === undefined ? openIdentity(ownKeyPath()) : readExistingIdentity(file);
  await print(`${await fingerprintOf(secret)}\n`);
}
