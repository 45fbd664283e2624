import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { loadKem } from "../../noise/kem.ts";
import { fingerprint, KeyPair, type KeySecret } from "../../noise/keys.ts";
import { Failure } from "./failure.ts";
import { stateDirectory } from "./state-directory.ts";

/** The directory with this user's own key for relays and the keys of executors. It is created. */
export function relayDirectory(): string {
  const directory = stateDirectory();
  if (directory === undefined) throw new Failure("there is no home for the keys of relays: set HOME");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

/** The file with this user's own key for relays. */
export function ownKeyPath(): string {
  return join(relayDirectory(), "relay.key");
}

export async function fingerprintOf(secret: KeySecret): Promise<string> {
  return fingerprint(new KeyPair(await loadKem(), secret).publicKey);
}
