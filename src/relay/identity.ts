import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { UsageError } from "../base/errors.ts";
import { isFingerprint } from "../base/fingerprint.ts";
import { KEM_SEED_BYTES } from "../noise/kem.ts";
import { type KeySecret, randomSecret, X25519_BYTES } from "../noise/keys.ts";

const HEADER = "exec-server-identity-v1";
const FORMAT = /^exec-server-identity-v1 ([A-Za-z0-9+/]{128})\n?$/;
const MAX_BYTES = 4096;
const OTHERS = 0o077;

/** The key that a file holds. A file that does not exist is created with a new one, for its owner alone. */
export function loadIdentity(path: string): KeySecret {
  return create(path) ?? readIdentity(path);
}

/** The key that a file holds, which must exist. */
export function readIdentity(path: string): KeySecret {
  const fd = openSync(path, "r");
  try {
    const { mode } = fstatSync(fd);
    if ((mode & OTHERS) !== 0)
      throw new UsageError(`others can read the key in ${path}; make it yours alone: chmod 600 ${path}`);
    const bytes = Buffer.alloc(MAX_BYTES);
    const text = bytes.toString("latin1", 0, readSync(fd, bytes));
    const [, encoded] = FORMAT.exec(text) ?? [];
    if (encoded === undefined) throw new UsageError(`${path} holds no key of exec-server`);
    const secret = Buffer.from(encoded, "base64");
    return { x25519: secret.subarray(0, X25519_BYTES), mlkem768Seed: secret.subarray(X25519_BYTES) };
  } finally {
    closeSync(fd);
  }
}

/** Undefined if the file exists. */
function create(path: string): KeySecret | undefined {
  let fd: number;
  try {
    fd = openSync(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  }
  try {
    const secret = randomSecret();
    const encoded = Buffer.concat([secret.x25519, secret.mlkem768Seed], X25519_BYTES + KEM_SEED_BYTES);
    writeSync(fd, `${HEADER} ${encoded.toString("base64")}\n`);
    return secret;
  } finally {
    closeSync(fd);
  }
}

/** The fingerprints of a text, one at the start of each line; anything may follow it, and `#` starts a comment. */
export function parseFingerprints(text: string, path: string): ReadonlySet<string> {
  const fingerprints = new Set<string>();
  for (const [index, line] of text.split("\n").entries()) {
    const [first = ""] = line.trim().split(/\s+/, 1);
    if (first === "" || first.startsWith("#")) continue;
    if (!isFingerprint(first))
      throw new UsageError(
        `${path}, line ${index + 1}: expected a fingerprint such as SHA256:dGhl…, not '${first.slice(0, 60)}'`,
      );
    fingerprints.add(first);
  }
  return fingerprints;
}
