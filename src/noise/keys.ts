import { createHash, createPrivateKey, createPublicKey, diffieHellman, randomBytes } from "node:crypto";
import { KEM_PUBLIC_BYTES, KEM_SEED_BYTES, type Kem, type KemPrivateKey } from "./kem.ts";

export const X25519_BYTES = 32;

const X25519_PRIVATE_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");
const X25519_PUBLIC_PREFIX = Buffer.from("302a300506032b656e032100", "hex");

/** One half of a key is safe against what computers can do today, the other against quantum computers. */
export interface PublicKey {
  readonly x25519: Uint8Array;
  readonly mlkem768: Uint8Array;
}

/** What a key pair is derived from. Whoever has it is that peer. */
export interface KeySecret {
  readonly x25519: Uint8Array;
  readonly mlkem768Seed: Uint8Array;
}

/** The private key of a peer, static or ephemeral. */
export class KeyPair {
  readonly publicKey: PublicKey;
  readonly #x25519: ReturnType<typeof createPrivateKey>;
  readonly #kem: KemPrivateKey;

  constructor(kem: Kem, secret: KeySecret = randomSecret()) {
    this.#x25519 = createPrivateKey({
      key: Buffer.concat([X25519_PRIVATE_PREFIX, secret.x25519]),
      format: "der",
      type: "pkcs8",
    });
    this.#kem = kem.privateKey(secret.mlkem768Seed);
    const spki = createPublicKey(this.#x25519).export({ format: "der", type: "spki" });
    this.publicKey = { x25519: spki.subarray(spki.length - X25519_BYTES), mlkem768: this.#kem.publicKey };
  }

  /** Throws for a key of low order, whose secret everybody knows. */
  agree(x25519: Uint8Array): Uint8Array {
    const publicKey = createPublicKey({
      key: Buffer.concat([X25519_PUBLIC_PREFIX, x25519]),
      format: "der",
      type: "spki",
    });
    return diffieHellman({ privateKey: this.#x25519, publicKey });
  }

  decapsulate(ciphertext: Uint8Array): Uint8Array {
    return this.#kem.decapsulate(ciphertext);
  }
}

export function randomSecret(): KeySecret {
  return { x25519: randomBytes(X25519_BYTES), mlkem768Seed: randomBytes(KEM_SEED_BYTES) };
}

export function isPublicKey({ x25519, mlkem768 }: PublicKey): boolean {
  return x25519.length === X25519_BYTES && mlkem768.length === KEM_PUBLIC_BYTES;
}

/** How people compare keys, such as `SHA256:dGhl…`. */
export function fingerprint({ x25519, mlkem768 }: PublicKey): string {
  const digest = createHash("sha256").update(x25519).update(mlkem768).digest("base64");
  return `SHA256:${digest.replace(/=$/, "")}`;
}
