import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";

const NONCE_BYTES = 12;
const COUNTER_AT = 4;
export const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";
const EMPTY = Buffer.alloc(0);

/** Encrypts with a key and a counter, which is never used twice. */
export class CipherState {
  readonly #key: Uint8Array;
  /** Where the counter stands while a message is made. */
  readonly #nonce = Buffer.alloc(NONCE_BYTES);
  #counter = 0n;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  encrypt(plaintext: Uint8Array, associated: Uint8Array = EMPTY): Buffer {
    return Buffer.concat(this.encryptParts([plaintext], associated));
  }

  /** The same, in parts that the caller puts together: it may have more to put before them. */
  encryptParts(plaintext: readonly Uint8Array[], associated: Uint8Array = EMPTY): Buffer[] {
    const cipher = createCipheriv(CIPHER, this.#key, this.#nextNonce());
    cipher.setAAD(associated);
    const parts = plaintext.map((part) => cipher.update(part));
    // In this mode, nothing is left for the end.
    cipher.final();
    parts.push(cipher.getAuthTag());
    return parts;
  }

  /** Throws if it was not made with this key, at this point, by somebody who knows the same associated data. */
  decrypt(ciphertext: Uint8Array, associated: Uint8Array = EMPTY): Buffer {
    const end = ciphertext.length - TAG_BYTES;
    if (end < 0) throw new Error("a record is shorter than its tag");
    const decipher = createDecipheriv(CIPHER, this.#key, this.#nextNonce(), { authTagLength: TAG_BYTES });
    decipher.setAAD(associated);
    decipher.setAuthTag(ciphertext.subarray(end));
    const plaintext = decipher.update(ciphertext.subarray(0, end));
    // In this mode, nothing is left for the end: it only checks the tag.
    decipher.final();
    return plaintext;
  }

  #nextNonce(): Buffer {
    this.#nonce.writeBigUInt64BE(this.#counter, COUNTER_AT);
    this.#counter += 1n;
    return this.#nonce;
  }
}

/** What both sides of a Noise handshake compute from everything that they have sent and agreed on. */
export class SymmetricState {
  #chainingKey: Buffer;
  #hash: Buffer;
  /** Undefined until a secret was mixed in. */
  #cipher: CipherState | undefined;

  /** The name must be longer than a hash. */
  constructor(protocolName: string) {
    this.#hash = createHash("sha256").update(protocolName).digest();
    this.#chainingKey = this.#hash;
  }

  mixHash(data: Uint8Array): void {
    this.#hash = createHash("sha256").update(this.#hash).update(data).digest();
  }

  mixKey(secret: Uint8Array): void {
    const [chainingKey, key] = derive(this.#chainingKey, secret);
    this.#chainingKey = chainingKey;
    this.#cipher = new CipherState(key);
  }

  /** As for a pre-shared key: the secret also changes the hash. */
  mixKeyAndHash(secret: Uint8Array): void {
    const [chainingKey, hash, key] = derive(this.#chainingKey, secret);
    this.#chainingKey = chainingKey;
    this.mixHash(hash);
    this.#cipher = new CipherState(key);
  }

  /** Before the first secret the text stays readable. */
  encryptAndHash(plaintext: Uint8Array): Uint8Array {
    const ciphertext = this.#cipher === undefined ? plaintext : this.#cipher.encrypt(plaintext, this.#hash);
    this.mixHash(ciphertext);
    return ciphertext;
  }

  decryptAndHash(ciphertext: Uint8Array): Uint8Array {
    const plaintext = this.#cipher === undefined ? ciphertext : this.#cipher.decrypt(ciphertext, this.#hash);
    this.mixHash(ciphertext);
    return plaintext;
  }

  /** The ciphers of the records: from the initiator, and to it. */
  split(): { fromInitiator: CipherState; fromResponder: CipherState } {
    const [fromInitiator, fromResponder] = derive(this.#chainingKey, EMPTY);
    return {
      fromInitiator: new CipherState(fromInitiator),
      fromResponder: new CipherState(fromResponder),
    };
  }
}

/** The key derivation of Noise. */
function derive(chainingKey: Uint8Array, input: Uint8Array): [Buffer, Buffer, Buffer] {
  const temporary = hmac(chainingKey, input);
  const first = hmac(temporary, Buffer.of(1));
  const second = hmac(temporary, first, Buffer.of(2));
  return [first, second, hmac(temporary, second, Buffer.of(3))];
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const result = createHmac("sha256", key);
  for (const part of parts) result.update(part);
  return result.digest();
}
