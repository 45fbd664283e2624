import { KEM_CIPHERTEXT_BYTES, KEM_PUBLIC_BYTES, type Kem } from "./kem.ts";
import { KeyPair, type PublicKey, X25519_BYTES } from "./keys.ts";
import { type CipherState, SymmetricState, TAG_BYTES } from "./symmetric-state.ts";

const PROTOCOL = "Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256";
const PROLOGUE_LABEL = "codex-exec-server-relay-noise/v1";
const MAX_PAYLOAD_BYTES = 4096;

const EPHEMERAL_BYTES = X25519_BYTES + KEM_PUBLIC_BYTES;
const STATIC_BYTES = X25519_BYTES + TAG_BYTES + KEM_PUBLIC_BYTES + TAG_BYTES;
/** Length of the first message, without its payload. */
export const REQUEST_OVERHEAD = KEM_CIPHERTEXT_BYTES + EPHEMERAL_BYTES + STATIC_BYTES + TAG_BYTES;
/** Length of the second message. */
export const RESPONSE_BYTES =
  KEM_CIPHERTEXT_BYTES + KEM_CIPHERTEXT_BYTES + TAG_BYTES + EPHEMERAL_BYTES + TAG_BYTES;

/** A handshake that was not made for this stream, by the peer it claims to come from. */
export class HandshakeError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "HandshakeError";
  }
}

/** What a stream is bound to: a handshake for one is worthless for any other. */
export interface StreamBinding {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly streamId: string;
}

/** Keys of an established stream. */
export interface Ciphers {
  readonly sending: CipherState;
  readonly receiving: CipherState;
}

interface InitiatorOptions {
  readonly own: KeyPair;
  readonly peer: PublicKey;
  readonly binding: StreamBinding;
  readonly payload: Uint8Array;
  /** For tests that repeat a handshake. Default: a new key, as every handshake needs. */
  readonly ephemeral?: KeyPair;
}

/** Starts a handshake with a responder whose public key is known. */
export class Initiator {
  readonly #kem: Kem;
  readonly #own: KeyPair;
  readonly #ephemeral: KeyPair;
  readonly #state: SymmetricState;
  /** The first message. */
  readonly request: Uint8Array;

  constructor(kem: Kem, { own, peer, binding, payload, ephemeral = new KeyPair(kem) }: InitiatorOptions) {
    if (payload.length > MAX_PAYLOAD_BYTES)
      throw new HandshakeError(`the payload of the handshake has more than ${MAX_PAYLOAD_BYTES} bytes`);
    this.#kem = kem;
    this.#own = own;
    this.#ephemeral = ephemeral;
    this.#state = begin(binding, peer);
    this.request = checked("the public key of the executor is not valid", () => this.#write(peer, payload));
  }

  /** Throws a HandshakeError if the response does not come from the responder. */
  finish(response: Uint8Array): Ciphers {
    if (response.length !== RESPONSE_BYTES) throw new HandshakeError("the handshake has a wrong length");
    return checked("the executor did not prove its key", () => {
      const parts = new Parts(response);
      const state = this.#state;
      const ephemeralCiphertext = parts.take(KEM_CIPHERTEXT_BYTES);
      state.mixHash(ephemeralCiphertext);
      state.mixKey(this.#ephemeral.decapsulate(ephemeralCiphertext));
      const staticCiphertext = state.decryptAndHash(parts.take(KEM_CIPHERTEXT_BYTES + TAG_BYTES));
      state.mixKeyAndHash(this.#own.decapsulate(staticCiphertext));
      const ephemeral = parts.take(X25519_BYTES);
      state.mixHash(ephemeral);
      state.mixHash(parts.take(KEM_PUBLIC_BYTES));
      state.mixKey(this.#ephemeral.agree(ephemeral));
      state.mixKey(this.#own.agree(ephemeral));
      state.decryptAndHash(parts.rest());
      const { fromInitiator, fromResponder } = state.split();
      return { sending: fromInitiator, receiving: fromResponder };
    });
  }

  #write(peer: PublicKey, payload: Uint8Array): Uint8Array {
    const state = this.#state;
    const { ciphertext, secret } = this.#kem.encapsulate(peer.mlkem768);
    const parts = [state.encryptAndHash(ciphertext)];
    state.mixKeyAndHash(secret);
    parts.push(...writeEphemeral(state, this.#ephemeral.publicKey));
    state.mixKey(this.#ephemeral.agree(peer.x25519));
    const { x25519, mlkem768 } = this.#own.publicKey;
    parts.push(state.encryptAndHash(x25519), state.encryptAndHash(mlkem768));
    state.mixKey(this.#own.agree(peer.x25519));
    parts.push(state.encryptAndHash(payload));
    return Buffer.concat(parts);
  }
}

/** A first message that was decrypted: who asks, with what payload. Nothing is sent before `accept`. */
export class Request {
  readonly peer: PublicKey;
  readonly payload: Uint8Array;
  readonly #kem: Kem;
  readonly #state: SymmetricState;
  readonly #peerEphemeral: PublicKey;

  /** Throws a HandshakeError if it was not made for this key and this stream. */
  constructor(
    kem: Kem,
    { own, binding, request }: { own: KeyPair; binding: StreamBinding; request: Uint8Array },
  ) {
    if (request.length < REQUEST_OVERHEAD || request.length > REQUEST_OVERHEAD + MAX_PAYLOAD_BYTES)
      throw new HandshakeError("the handshake has a wrong length");
    this.#kem = kem;
    const parts = new Parts(request);
    const state = begin(binding, own.publicKey);
    this.#state = state;
    const read = checked("the handshake was not made for this executor and stream", () => {
      const ciphertext = state.decryptAndHash(parts.take(KEM_CIPHERTEXT_BYTES));
      state.mixKeyAndHash(own.decapsulate(ciphertext));
      const ephemeral = { x25519: parts.take(X25519_BYTES), mlkem768: parts.take(KEM_PUBLIC_BYTES) };
      state.mixHash(ephemeral.x25519);
      state.mixHash(ephemeral.mlkem768);
      state.mixKey(own.agree(ephemeral.x25519));
      const x25519 = state.decryptAndHash(parts.take(X25519_BYTES + TAG_BYTES));
      const mlkem768 = state.decryptAndHash(parts.take(KEM_PUBLIC_BYTES + TAG_BYTES));
      state.mixKey(own.agree(x25519));
      return { ephemeral, peer: { x25519, mlkem768 }, payload: state.decryptAndHash(parts.rest()) };
    });
    this.#peerEphemeral = read.ephemeral;
    this.peer = read.peer;
    this.payload = read.payload;
  }

  /** Completes the handshake; call it once. Returns the second message. Every handshake needs a new key. */
  accept(ephemeral: KeyPair = new KeyPair(this.#kem)): { response: Uint8Array; ciphers: Ciphers } {
    return checked("the keys of the client are not valid", () => {
      const state = this.#state;
      const toEphemeral = this.#kem.encapsulate(this.#peerEphemeral.mlkem768);
      state.mixHash(toEphemeral.ciphertext);
      state.mixKey(toEphemeral.secret);
      const parts = [toEphemeral.ciphertext];
      const toStatic = this.#kem.encapsulate(this.peer.mlkem768);
      parts.push(state.encryptAndHash(toStatic.ciphertext));
      state.mixKeyAndHash(toStatic.secret);
      parts.push(...writeEphemeral(state, ephemeral.publicKey));
      state.mixKey(ephemeral.agree(this.#peerEphemeral.x25519));
      state.mixKey(ephemeral.agree(this.peer.x25519));
      parts.push(state.encryptAndHash(new Uint8Array()));
      const { fromInitiator, fromResponder } = state.split();
      return {
        response: Buffer.concat(parts),
        ciphers: { sending: fromResponder, receiving: fromInitiator },
      };
    });
  }
}

function begin(binding: StreamBinding, responder: PublicKey): SymmetricState {
  const state = new SymmetricState(PROTOCOL);
  state.mixHash(prologue(binding));
  state.mixHash(responder.x25519);
  state.mixHash(responder.mlkem768);
  return state;
}

function prologue({ environmentId, registrationId, streamId }: StreamBinding): Uint8Array {
  const parts = [PROLOGUE_LABEL, environmentId, registrationId, streamId].flatMap((text) => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

function writeEphemeral(state: SymmetricState, { x25519, mlkem768 }: PublicKey): Uint8Array[] {
  state.mixHash(x25519);
  state.mixHash(mlkem768);
  return [x25519, mlkem768];
}

/** Whatever fails in a primitive is the fault of what the peer sent. */
function checked<T>(message: string, compute: () => T): T {
  try {
    return compute();
  } catch (cause) {
    throw new HandshakeError(message, { cause });
  }
}

/** Takes a message apart from its start. */
class Parts {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(length: number): Uint8Array {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }
}
