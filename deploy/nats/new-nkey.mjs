// Makes an nkey for a user of NATS: keeps the secret seed in a new file that only its owner can read, and prints the
// public key, which belongs in users.conf. An nkey is an Ed25519 key in base32, with a prefix and a CRC-16.
import { createPrivateKey, createPublicKey, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";

const SEED = 18 << 3;
const USER = 20 << 3;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** What stands before the 32 bytes of a private Ed25519 key in PKCS #8. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

const [, , file] = process.argv;
if (file === undefined) {
  process.stderr.write("usage: new-nkey.mjs FILE\n");
  process.exit(2);
}
const seed = randomBytes(32);
const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
try {
  // The kind of key begins in the last three bits of the first byte.
  const secret = encode(Buffer.from([SEED | (USER >> 5), (USER << 3) & 0xff]), seed);
  writeFileSync(file, `${secret}\n`, { mode: 0o600, flag: "wx" });
} catch (error) {
  process.stderr.write(`cannot write the key: ${error.message}\n`);
  process.exit(1);
}
process.stdout.write(`${encode(Buffer.from([USER]), publicKey)}\n`);

function encode(prefix, bytes) {
  const body = Buffer.concat([prefix, bytes]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(body));
  const bits = [...body, ...checksum].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return bits.replace(/.{1,5}/g, (five) => ALPHABET[Number.parseInt(five.padEnd(5, "0"), 2)]);
}

/** CRC-16 with the polynomial 0x1021, as XMODEM has it. */
function crc16(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}
