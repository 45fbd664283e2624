import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ml_kem768 as library } from "@noble/post-quantum/ml-kem.js";
import type { StreamBinding } from "../../src/noise/handshake.ts";
import type { Kem } from "../../src/noise/kem.ts";
import type { KeySecret, PublicKey } from "../../src/noise/keys.ts";

const FILE = fileURLToPath(new URL("recorded-handshakes.json", import.meta.url));

/** A record of the channel, and what is in it. */
interface RecordedText {
  readonly plaintext: Buffer;
  readonly record: Buffer;
}

/** A handshake of this project's code with the released Codex, with everything that was random on this side. */
export interface RecordedHandshake {
  readonly codex: string;
  readonly binding: StreamBinding;
  readonly payload: Buffer;
  readonly own: KeySecret;
  readonly ephemeral: KeySecret;
  /** Randomness of each encapsulation. */
  readonly encapsulations: readonly Buffer[];
  /** Codex's lasting key. */
  readonly peer: PublicKey;
  readonly request: Buffer;
  readonly response: Buffer;
  /** The first records of each direction, beginning with the first. */
  readonly sent: readonly RecordedText[];
  readonly received: readonly RecordedText[];
}

/** By the role of this project's code. */
export interface RecordedHandshakes {
  readonly initiator: RecordedHandshake;
  readonly responder: RecordedHandshake;
}

const MARK = "base64:";

export function loadRecorded(): RecordedHandshakes {
  const bytes = (_key: string, value: unknown): unknown =>
    typeof value === "string" && value.startsWith(MARK)
      ? Buffer.from(value.slice(MARK.length), "base64")
      : value;
  return JSON.parse(readFileSync(FILE, "utf8"), bytes) as RecordedHandshakes;
}

export function saveRecorded(recorded: RecordedHandshakes): void {
  // Buffers have become objects before a replacer sees them.
  const text = (_key: string, value: unknown): unknown =>
    typeof value === "object" && value !== null && "type" in value && value.type === "Buffer"
      ? MARK + Buffer.from((value as unknown as { data: number[] }).data).toString("base64")
      : value;
  writeFileSync(FILE, `${JSON.stringify(recorded, text, 2)}\n`);
}

/** Encapsulates with chosen randomness, in turn. */
export function scripted(kem: Kem, randomness: readonly Uint8Array[]): Kem {
  const left = [...randomness];
  return {
    privateKey: (seed) => kem.privateKey(seed),
    encapsulate: (publicKey) => {
      const next = left.shift();
      if (next === undefined) throw new Error("no randomness is left");
      const { cipherText, sharedSecret } = library.encapsulate(publicKey, next);
      return { ciphertext: cipherText, secret: sharedSecret };
    },
  };
}
