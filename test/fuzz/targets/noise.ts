import { HandshakeError, Initiator, Request } from "../../../src/noise/handshake.ts";
import { loadKem } from "../../../src/noise/kem.ts";
import { KeyPair } from "../../../src/noise/keys.ts";
import { attempt, expectTrue, type Target } from "../target.ts";

const kem = await loadKem();
const [client, executor] = [new KeyPair(kem), new KeyPair(kem)];
const binding = { environmentId: "env", registrationId: "registration", streamId: "stream" };
const initiate = (payload: string): Initiator =>
  new Initiator(kem, { own: client, peer: executor.publicKey, binding, payload: Buffer.from(payload) });
const [one, other] = [initiate("authorization"), initiate("another")];
const request = new Request(kem, { own: executor, binding, request: one.request });
const responses = [
  request.accept().response,
  new Request(kem, { own: executor, binding, request: other.request }).accept().response,
];
const honest = [one.request, other.request].map((bytes) => Buffer.from(bytes));

/** Nobody between the ends can make a handshake of others. Keys are new in every run, so finds cannot be replayed. */
export const target: Target = {
  seeds: [...honest, ...responses],
  words: [...honest.map((bytes) => bytes.subarray(0, 1088)), Buffer.alloc(32), Buffer.alloc(32, 0xff)],
  maxBytes: 9_000,
  run(input) {
    const read = attempt(() => new Request(kem, { own: executor, binding, request: input }), HandshakeError);
    expectTrue(
      "error" in read || honest.some((bytes) => bytes.equals(input)),
      "no changed request is accepted",
    );
    // Of another length it is refused unread, and a new initiator for each is slow.
    if (input.length !== responses[0]!.length) return;
    const finish = attempt(() => initiate("authorization").finish(input), HandshakeError);
    expectTrue("error" in finish, "no response to another request is accepted");
  },
};
