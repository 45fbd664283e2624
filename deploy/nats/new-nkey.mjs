// Makes an nkey for a user of NATS: keeps the secret seed in a new file that only its owner can read, and prints the
// public key, which belongs in users.conf.
import { writeFileSync } from "node:fs";
import { nkeys } from "@nats-io/transport-node";

const [, , file] = process.argv;
if (file === undefined) {
  console.error("usage: new-nkey.mjs FILE");
  process.exit(2);
}
const pair = nkeys.createUser();
try {
  writeFileSync(file, `${Buffer.from(pair.getSeed()).toString()}\n`, { mode: 0o600, flag: "wx" });
} catch (error) {
  console.error(`cannot write the key: ${error.message}`);
  process.exit(1);
}
console.log(pair.getPublicKey());
