import fc from "fast-check";
import { expect, test } from "vitest";
import { HandshakeError, Initiator, Request } from "./handshake.ts";
import { loadKem } from "./kem.ts";
import { KeyPair } from "./keys.ts";

/** FUZZ_RUNS=1000000 is the long form of all fuzzers; FAULT_SEED repeats a run. */
const numRuns = Math.ceil(Number(process.env["FUZZ_RUNS"] ?? 3_000) / 100);
const seed = Number(process.env["FAULT_SEED"] ?? 20_260_822);
const timeout = 30_000 + 200 * numRuns;

const kem = await loadKem();
const [client, executor] = [new KeyPair(kem), new KeyPair(kem)];
const binding = { environmentId: "env", registrationId: "registration", streamId: "stream" };

const initiate = (payload = "authorization"): Initiator =>
  new Initiator(kem, { own: client, peer: executor.publicKey, binding, payload: Buffer.from(payload) });
const read = (request: Uint8Array): Request => new Request(kem, { own: executor, binding, request });

type Change = (message: Buffer, other: Buffer) => Buffer;

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
/** Of a message, what somebody between the ends could make of it, who has another one like it. */
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.array(fc.tuple(place, fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 }).map(
    (flips): Change =>
      (message) => {
        const copy = Buffer.from(message);
        for (const [at, bits] of flips) copy[Math.floor(at * copy.length)]! ^= bits;
        return copy;
      },
  ),
  place.map(
    (at): Change =>
      (message) =>
        message.subarray(0, Math.floor(at * message.length)),
  ),
  fc.uint8Array({ minLength: 1, maxLength: 5_000, size: "max" }).map(
    (more): Change =>
      (message) =>
        Buffer.concat([message, more]),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (message, other) => {
        const [start, end] = [from, to]
          .map((at) => Math.floor(at * message.length))
          .toSorted((a, b) => a - b);
        return Buffer.concat([
          message.subarray(0, start),
          other.subarray(start, end! + 1),
          message.subarray(end! + 1),
        ]);
      },
  ),
  place.map(
    (at): Change =>
      (message) => {
        const middle = 1 + Math.floor(at * (message.length - 1));
        return Buffer.concat([message.subarray(middle), message.subarray(0, middle)]);
      },
  ),
  fc.uint8Array({ maxLength: 8_000, size: "max" }).map(
    (bytes): Change =>
      () =>
        Buffer.from(bytes),
  ),
);

test("no changed request is accepted, and nothing but a HandshakeError is thrown", { timeout }, () => {
  const request = Buffer.from(initiate().request);
  fc.assert(
    fc.property(changes, (change) => {
      const other = Buffer.from(initiate("another").request);
      const changed = change(request, other);
      fc.pre(!changed.equals(request) && !changed.equals(other));
      expect(() => read(changed)).toThrow(HandshakeError);
    }),
    { numRuns, seed },
  );
});

test("no changed response is accepted, and nothing but a HandshakeError is thrown", { timeout }, () => {
  fc.assert(
    fc.property(changes, (change) => {
      const initiator = initiate();
      const { response } = read(initiator.request).accept();
      const other = read(initiator.request).accept().response;
      const changed = change(Buffer.from(response), Buffer.from(other));
      fc.pre(!changed.equals(Buffer.from(response)) && !changed.equals(Buffer.from(other)));
      expect(() => initiator.finish(changed)).toThrow(HandshakeError);
    }),
    { numRuns, seed },
  );
});
