// Makes an nkey for a user of NATS: keeps the secret seed in a new file that only its owner can read, and prints the
// public key, which belongs in users.conf.
import { writeFileSync } from "node:fs";
import { nkeys } from "@nats-io/transport-node";

const [, , file] = process.argv;
if (file === undefined) {
  process.stderr.write("usage: new-nkey.mjs FILE\n");
  process.exit(2);
}
const pair = nkeys.createUser();
try {
  writeFileSync(file, `${Buffer.from(pair.getSeed()).toString()}\n`, { mode: 0o600, flag: "wx" });
} catch (error) {
  process.stderr.write(`cannot write the key: ${error.message}\n`);
  process.exit(1);
}
process.stdout.write(`${pair.getPublicKey()}\n`);
