import { describe, expect, test } from "vitest";
import { HandshakeError, Initiator, Request, REQUEST_OVERHEAD, RESPONSE_BYTES } from "./handshake.ts";
import { loadKem, loadLibraryKem, nodeKem } from "./kem.ts";
import { fingerprint, KeyPair } from "./keys.ts";

const kem = await loadKem();
const library = await loadLibraryKem();
const harness = new KeyPair(kem);
const executor = new KeyPair(kem);
const binding = { environmentId: "env", registrationId: "registration", streamId: "stream" };

function ask(options: Partial<ConstructorParameters<typeof Initiator>[1]> = {}): Initiator {
  const payload = Buffer.from("authorization");
  return new Initiator(kem, { own: harness, peer: executor.publicKey, binding, payload, ...options });
}

function read(request: Uint8Array, options: { own?: KeyPair; binding?: typeof binding } = {}): Request {
  return new Request(kem, { own: executor, binding, request, ...options });
}

test("both sides get the same ciphers, and the responder who asks with what", () => {
  const initiator = ask();
  const request = read(initiator.request);
  expect(Buffer.from(request.payload).toString()).toBe("authorization");
  expect(fingerprint(request.peer)).toBe(fingerprint(harness.publicKey));
  const { response, ciphers } = request.accept();
  const own = initiator.finish(response);
  for (const text of ["first", "second", ""]) {
    expect(ciphers.receiving.decrypt(own.sending.encrypt(Buffer.from(text))).toString()).toBe(text);
    expect(own.receiving.decrypt(ciphers.sending.encrypt(Buffer.from(text))).toString()).toBe(text);
  }
});

test("messages have the lengths of the protocol", () => {
  const initiator = ask({ payload: new Uint8Array() });
  expect(REQUEST_OVERHEAD).toBe(3568);
  expect(initiator.request).toHaveLength(3568);
  expect(RESPONSE_BYTES).toBe(3424);
  expect(read(initiator.request).accept().response).toHaveLength(3424);
});

describe("a request is refused", () => {
  const { request } = ask();
  test.each(["environmentId", "registrationId", "streamId"])("with another %s", (name) => {
    expect(() => read(request, { binding: { ...binding, [name]: "other" } })).toThrow(HandshakeError);
  });

  test("if parts of the binding are split elsewhere", () => {
    const other = { environmentId: "envr", registrationId: "egistration", streamId: "stream" };
    expect(() => read(request, { binding: other })).toThrow(HandshakeError);
  });

  test("by another executor", () => {
    expect(() => read(request, { own: harness })).toThrow(HandshakeError);
  });

  test.each([0, 1, 3567, 3568 + 4097])("with %i bytes", (length) => {
    expect(() => read(Buffer.alloc(length, request))).toThrow(HandshakeError);
  });

  // One byte of each part: ciphertext, ephemeral keys, static keys, payload, tag. Each takes some milliseconds.
  test.each([0, 1087, 1088, 1120, 2303, 2304, 2351, 2352, 3551, 3552, request.length - 1])(
    "with byte %i changed",
    (at) => {
      const changed = Buffer.from(request);
      changed[at]! ^= 1;
      expect(() => read(changed)).toThrow(HandshakeError);
    },
  );
});

test("a payload of more than 4096 bytes is not sent", () => {
  expect(() => ask({ payload: Buffer.alloc(4097) })).toThrow("more than 4096 bytes");
  expect(read(ask({ payload: Buffer.alloc(4096) }).request).payload).toHaveLength(4096);
});

test.each([0, 1088, 2191, 2192, 2224, 3407, 3408, 3423])(
  "a response with byte %i changed is refused",
  (at) => {
    const initiator = ask();
    const changed = Buffer.from(read(initiator.request).accept().response);
    changed[at]! ^= 1;
    expect(() => initiator.finish(changed)).toThrow(HandshakeError);
  },
);

test("only the executor whose key was asked for can respond", () => {
  const initiator = ask();
  const response = read(ask().request).accept().response;
  expect(() => initiator.finish(response)).toThrow(HandshakeError);
  expect(() => initiator.finish(response.subarray(1))).toThrow(HandshakeError);
});

test("a public key of low order is refused", () => {
  const { mlkem768 } = executor.publicKey;
  expect(() => ask({ peer: { x25519: new Uint8Array(32), mlkem768 } })).toThrow(HandshakeError);
});

test("records cannot be repeated, reordered, cut or read by another stream", () => {
  const initiator = ask();
  const { response, ciphers } = read(initiator.request).accept();
  const { sending } = initiator.finish(response);
  const first = sending.encrypt(Buffer.from("first"));
  const second = sending.encrypt(Buffer.from("second"));
  expect(ciphers.receiving.decrypt(first).toString()).toBe("first");
  expect(() => ciphers.receiving.decrypt(first)).toThrow();
  const other = read(ask().request).accept().ciphers;
  expect(() => other.receiving.decrypt(first)).toThrow();
  expect(() => other.receiving.decrypt(second.subarray(0, 15))).toThrow("shorter than its tag");
});

test("a key pair is derived from its secret", () => {
  const secret = { x25519: Buffer.alloc(32, 1), mlkem768Seed: Buffer.alloc(64, 2) };
  const known = fingerprint(new KeyPair(library, secret).publicKey);
  expect(known).toBe(fingerprint(new KeyPair(kem, secret).publicKey));
  expect(known).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
});

test.runIf(nodeKem() !== undefined)("Node's ML-KEM and the library's agree", () => {
  const seed = Buffer.alloc(64, 7);
  const [one, other] = [nodeKem()!, library];
  expect(Buffer.from(one.privateKey(seed).publicKey)).toEqual(Buffer.from(other.privateKey(seed).publicKey));
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    const { ciphertext, secret } = from.encapsulate(one.privateKey(seed).publicKey);
    expect(Buffer.from(to.privateKey(seed).decapsulate(ciphertext))).toEqual(Buffer.from(secret));
  }
});
