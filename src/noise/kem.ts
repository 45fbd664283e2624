import * as crypto from "node:crypto";

/** Sizes of ML-KEM-768, in bytes. */
export const KEM_PUBLIC_BYTES = 1184;
export const KEM_CIPHERTEXT_BYTES = 1088;
/** A private key is kept as the seed that it is derived from. */
export const KEM_SEED_BYTES = 64;

/** A private key of ML-KEM-768. */
export interface KemPrivateKey {
  readonly publicKey: Uint8Array;
  /** Never fails for a ciphertext of the right length: a wrong one gives an unpredictable secret. */
  decapsulate(ciphertext: Uint8Array): Uint8Array;
}

/** A secret, and what lets only the owner of a private key compute it. */
interface Encapsulated {
  readonly ciphertext: Uint8Array;
  readonly secret: Uint8Array;
}

/** An implementation of ML-KEM-768. */
export interface Kem {
  privateKey(seed: Uint8Array): KemPrivateKey;
  /** Throws for a public key that is not valid. */
  encapsulate(publicKey: Uint8Array): Encapsulated;
}

/** Node has it from 24.7 on; its types do not know it yet. */
interface NodeKem {
  readonly encapsulate?: (key: crypto.KeyObject) => {
    readonly ciphertext: Uint8Array;
    readonly sharedKey: Uint8Array;
  };
  readonly decapsulate?: (key: crypto.KeyObject, ciphertext: Uint8Array) => Uint8Array;
}

/** Everything of the DER encodings but the key itself. */
const PRIVATE_PREFIX = Buffer.from("3054020100300b060960864801650304040204428040", "hex");
const PUBLIC_PREFIX = Buffer.from("308204b2300b0609608648016503040402038204a100", "hex");

let loading: Promise<Kem> | undefined;

/** Node's own implementation, or a library's that takes about ten times as long. */
export function loadKem(): Promise<Kem> {
  loading ??= nodeKem() === undefined ? loadLibraryKem() : Promise.resolve(nodeKem()!);
  return loading;
}

export function nodeKem(): Kem | undefined {
  const { encapsulate, decapsulate } = crypto as NodeKem;
  if (encapsulate === undefined || decapsulate === undefined) return undefined;
  return {
    privateKey: (seed) => {
      const key = crypto.createPrivateKey({
        key: Buffer.concat([PRIVATE_PREFIX, seed]),
        format: "der",
        type: "pkcs8",
      });
      const spki = crypto.createPublicKey(key).export({ format: "der", type: "spki" });
      return {
        publicKey: spki.subarray(spki.length - KEM_PUBLIC_BYTES),
        decapsulate: (ciphertext) => decapsulate(key, ciphertext),
      };
    },
    encapsulate: (publicKey) => {
      const key = crypto.createPublicKey({
        key: Buffer.concat([PUBLIC_PREFIX, publicKey]),
        format: "der",
        type: "spki",
      });
      const { ciphertext, sharedKey } = encapsulate(key);
      return { ciphertext, secret: sharedKey };
    },
  };
}

export async function loadLibraryKem(): Promise<Kem> {
  const { ml_kem768: kem } = await import("@noble/post-quantum/ml-kem.js");
  return {
    privateKey: (seed) => {
      const { publicKey, secretKey } = kem.keygen(seed);
      return { publicKey, decapsulate: (ciphertext) => kem.decapsulate(ciphertext, secretKey) };
    },
    encapsulate: (publicKey) => {
      const { cipherText, sharedSecret } = kem.encapsulate(publicKey);
      return { ciphertext: cipherText, secret: sharedSecret };
    },
  };
}
