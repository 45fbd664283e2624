import { describe, expect, it } from "vitest";
import { type Ciphers, HandshakeError, Initiator, Request } from "../../src/noise/handshake.ts";
import { type Kem, loadLibraryKem, nodeKem } from "../../src/noise/kem.ts";
import { KeyPair } from "../../src/noise/keys.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { loadRecorded, type RecordedHandshake, scripted } from "./recorded-handshake.ts";

/** HANDSHAKE_BYTES=all changes every byte; a minute and a half. */
const changesAll = process.env["HANDSHAKE_BYTES"] === "all";
const SAMPLE = 12;

const recorded = loadRecorded();
const kems: [string, Kem][] = [["a library's", await loadLibraryKem()]];
if (nodeKem() !== undefined) kems.push(["Node's", nodeKem()!]);

function initiate(
  kem: Kem,
  { own, ephemeral, peer, binding, payload, encapsulations }: RecordedHandshake,
): Initiator {
  return new Initiator(scripted(kem, encapsulations), {
    own: new KeyPair(kem, own),
    peer,
    binding,
    payload,
    ephemeral: new KeyPair(kem, ephemeral),
  });
}

function read(
  kem: Kem,
  { own, binding, request, encapsulations }: RecordedHandshake,
  changed: Partial<RecordedHandshake> = {},
): Request {
  const options = { own: new KeyPair(kem, changed.own ?? own), binding: changed.binding ?? binding };
  return new Request(scripted(kem, encapsulations), { ...options, request: changed.request ?? request });
}

function accept(request: Request, { ephemeral }: RecordedHandshake): ReturnType<Request["accept"]> {
  return request.accept(new KeyPair(kems[0]![1], ephemeral));
}

function expectKeys({ sending, receiving }: Ciphers, { sent, received }: RecordedHandshake): void {
  expect(sent.length).toBeGreaterThan(0);
  expect(received.length).toBeGreaterThan(0);
  for (const { plaintext, record } of sent) expect(sending.encrypt(plaintext)).toEqual(record);
  for (const { plaintext, record } of received) expect(receiving.decrypt(record)).toEqual(plaintext);
}

describe.each(kems)("a recorded handshake, with %s ML-KEM", (_, kem) => {
  it("with Codex's executor comes out the same, byte by byte", () => {
    const vector = recorded.initiator;
    const initiator = initiate(kem, vector);
    expect(Buffer.from(initiator.request)).toEqual(vector.request);
    expectKeys(initiator.finish(vector.response), vector);
    expect(vector.received[0]!.plaintext.toString()).toContain('"sessionId"');
  });

  it("with Codex's client comes out the same, byte by byte", () => {
    const vector = recorded.responder;
    const request = read(kem, vector);
    expect(Buffer.from(request.payload)).toEqual(vector.payload);
    expect([request.peer.x25519, request.peer.mlkem768].map((half) => Buffer.from(half))).toEqual([
      vector.peer.x25519,
      vector.peer.mlkem768,
    ]);
    const { response, ciphers } = accept(request, vector);
    expect(Buffer.from(response)).toEqual(vector.response);
    expectKeys(ciphers, vector);
    expect(vector.received[0]!.plaintext.toString()).toContain('"initialize"');
  });
});

describe("refused in a recorded handshake:", () => {
  const [[, kem]] = kems as [[string, Kem]];
  const random = new SeededRandom(runSeed);
  const places = (bytes: Buffer): number[] =>
    changesAll
      ? [...bytes.keys()]
      : Array.from({ length: SAMPLE }, () => random.between(0, bytes.length - 1));
  const changed = (bytes: Buffer, at: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy[at]! ^= random.between(1, 255);
    return copy;
  };
  const timeout = changesAll ? 600_000 : 30_000;

  it(`a changed byte of the client's message, ${changesAll ? "each" : "a sample"}`, { timeout }, () => {
    const vector = recorded.responder;
    const accepted = places(vector.request).filter((at) => {
      try {
        read(kem, vector, { request: changed(vector.request, at) });
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(HandshakeError);
        return false;
      }
    });
    expect(accepted).toEqual([]);
  });

  it(`a changed byte of the executor's message, ${changesAll ? "each" : "a sample"}`, { timeout }, () => {
    const vector = recorded.initiator;
    const accepted = places(vector.response).filter((at) => {
      try {
        initiate(kem, vector).finish(changed(vector.response, at));
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(HandshakeError);
        return false;
      }
    });
    expect(accepted).toEqual([]);
  });

  it(`a changed byte of a record, ${changesAll ? "each" : "a sample"}`, { timeout }, () => {
    const vector = recorded.responder;
    const { record } = vector.received[0]!;
    for (const at of places(record)) {
      const { ciphers } = accept(read(kem, vector), vector);
      expect(() => ciphers.receiving.decrypt(changed(record, at))).toThrow();
    }
  });

  it.each(["environmentId", "registrationId", "streamId"] as const)("another %s", (name) => {
    const vector = recorded.responder;
    const binding = { ...vector.binding, [name]: `${vector.binding[name]}x` };
    expect(() => read(kem, vector, { binding })).toThrow(HandshakeError);
  });

  it("another key of the executor", () => {
    const own = recorded.initiator.own;
    expect(() => read(kem, recorded.responder, { own })).toThrow(HandshakeError);
  });

  it.each([1, 16, 1200])("%i bytes too few, or too many", (count) => {
    const { request, response } = { ...recorded.responder, response: recorded.initiator.response };
    const longer = Buffer.concat([request, Buffer.alloc(count)]);
    for (const wrong of [request.subarray(0, -count), request.subarray(count), longer])
      expect(() => read(kem, recorded.responder, { request: wrong })).toThrow(HandshakeError);
    for (const wrong of [response.subarray(0, -count), Buffer.concat([response, Buffer.alloc(count)])])
      expect(() => initiate(kem, recorded.initiator).finish(wrong)).toThrow(HandshakeError);
  });

  it("recorded records, after a recorded message that is sent again: the keys are new", () => {
    const { own, binding, request, received } = recorded.responder;
    const { ciphers } = new Request(kem, { own: new KeyPair(kem, own), binding, request }).accept();
    expect(() => ciphers.receiving.decrypt(received[0]!.record)).toThrow();
  });
});
