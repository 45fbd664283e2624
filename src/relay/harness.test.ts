import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRelay } from "../../test/fixtures/fake-relay.ts";
import { ConnectionError } from "../base/errors.ts";
import { KEM_PUBLIC_BYTES, loadKem } from "../noise/kem.ts";
import { KeyPair, type PublicKey } from "../noise/keys.ts";
import { readFrame, writeFrame } from "./frame.ts";
import { reachThroughRelay } from "./harness.ts";
import { writeKey } from "./wire-key.ts";

const kem = await loadKem();
const valid = new KeyPair(kem).publicKey;
const HANDSHAKE_BYTES = 3424;

let relay: FakeRelay;

beforeEach(async () => {
  relay = await FakeRelay.open();
});

afterEach(() => relay[Symbol.asyncDispose]());

interface Lie {
  readonly key?: PublicKey;
  readonly authorization?: string;
  /** What comes instead of the executor's handshake. */
  readonly response?: Buffer;
}

/** How reaching an executor fails if the relay lies. */
function fails({ key = valid, authorization = "a", response = Buffer.alloc(0) }: Lie): Promise<unknown> {
  relay.answer = () =>
    relay.accepted({ executor_public_key: writeKey(key), harness_key_authorization: authorization });
  relay.connected = (webSocket) =>
    webSocket.on("message", (data) => {
      const frame = readFrame(data as Buffer);
      if (frame?.kind === "handshake")
        webSocket.send(writeFrame({ streamId: frame.streamId, kind: "handshake", payload: response }));
    });
  const reaching = reachThroughRelay({
    base: relay.base,
    environmentId: "x",
    bearer: () => undefined,
    kem,
    own: new KeyPair(kem),
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });
  return reaching.catch((error: unknown) => error);
}

test.each<[string, Lie, string]>([
  ["a handshake that proves nothing", { response: randomBytes(HANDSHAKE_BYTES) }, "did not prove its key"],
  ["a handshake of a wrong length", { response: Buffer.from("x") }, "the handshake has a wrong length"],
  ["a key of low order", { key: { ...valid, x25519: Buffer.alloc(32) } }, "is not valid"],
  [
    "a key out of range",
    { key: { ...valid, mlkem768: Buffer.alloc(KEM_PUBLIC_BYTES, 255) } },
    "is not valid",
  ],
  ["an authorization that is too long", { authorization: "a".repeat(5_000) }, "more than 4096 bytes"],
])("%s is a failed connection, not a fault of this program", async (_what, lie, message) => {
  const error = await fails(lie);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ code: "CONNECTION_CLOSED" });
  expect((error as Error).message).toMatch(
    new RegExp(`^no secure connection to the executor 'x': .*${message}`),
  );
});
