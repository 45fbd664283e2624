// dist/receive.js: run by Node on another machine, to which exec-server brings itself. Reads a bundle from stdin, checks
// it, and puts it into place. Its text is part of a command line there, so it is small and ASCII.
import { createHash } from "node:crypto";
import { readSync, writeSync } from "node:fs";
import { installBundle } from "./install-bundle.ts";

/** Put in front of this program by the one that brings it. */
declare const BUNDLE: {
  readonly nonce: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
};

const STDIN = 0;
const STDOUT = 1;
const RETRY_MS = 5;

const [, , root = "", staging = ""] = process.argv;

function say(text: string): void {
  writeSync(STDOUT, `exec-server:${BUNDLE.nonce} ${text.replace(/\s+/g, " ")}\n`);
}

/** Synchronous, so that nothing behind the bundle is read: that belongs to the server. */
function receive(): Buffer {
  const payload = Buffer.alloc(BUNDLE.bytes);
  for (let length = 0; length < payload.length; ) {
    try {
      const count = readSync(STDIN, payload, length, payload.length - length, null);
      // The other end is gone, and nobody reads what could be said.
      if (count === 0) throw new Error("the connection ended");
      length += count;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
  if (createHash("sha256").update(payload).digest("hex") !== BUNDLE.sha256)
    throw new Error("the bundle was damaged on its way");
  return payload;
}

try {
  say("send");
  installBundle(receive(), { root, staging, name: BUNDLE.name });
} catch (error) {
  say(`failed ${(error as Error).message}`);
  process.exit(1);
}
