import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KeyPair } from "../../src/noise/keys.ts";
import { writeKey } from "../../src/relay/wire-key.ts";
import { CLIENT_TOKEN, EXECUTOR_TOKEN, TestRelay } from "./relay-fixture.ts";

let relay: TestRelay;
let own: KeyPair;

beforeEach(async () => {
  relay = await TestRelay.start();
  own = new KeyPair(relay.kem);
  await relay.executor("build-1");
});

afterEach(() => relay[Symbol.asyncDispose]());

interface Answer {
  readonly error?: { readonly code: string };
}

async function post(
  action: string,
  body: unknown,
  token = CLIENT_TOKEN,
): Promise<{ status: number; json: Answer }> {
  const response = await fetch(`${relay.base}/cloud/environment/build-1/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as Answer };
}

test("an answer ends its connection: nobody asks on a kept one that a restart is about to end", async () => {
  const response = await fetch(`${relay.base}/environments`, {
    headers: { authorization: `Bearer ${EXECUTOR_TOKEN}` },
  });
  expect(response.headers.get("connection")).toBe("close");
});

describe("the registry refuses", () => {
  test("a token that it does not know, without reading the request", async () => {
    expect(await post("connect", "rubbish", "stranger")).toMatchObject({ status: 401 });
  });

  test("a client's token that registers or validates, and an executor's that connects", async () => {
    expect(await post("register", {})).toMatchObject({ status: 403 });
    expect(await post("validate", {})).toMatchObject({ status: 403 });
    expect(await post("connect", {}, EXECUTOR_TOKEN)).toMatchObject({ status: 403 });
  });

  test.each([
    ["what is not JSON", "rubbish", 400],
    ["no key", {}, 400],
    ["a key with a member too many", { harness_public_key: { a: 1, b: 2, c: 3, d: 4 } }, 400],
    ["what is too long", { harness_public_key: "x".repeat(20_000) }, 413],
  ])("%s", async (_what, body, status) => {
    expect(await post("connect", body)).toMatchObject({ status });
  });

  test("an environment that is not there, as one that is offline", async () => {
    const url = `${relay.base}/cloud/environment/other/connect`;
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${CLIENT_TOKEN}` },
      body: JSON.stringify({ harness_public_key: writeKey(own.publicKey) }),
    });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ error: { code: "environment_offline" } });
  });

  test("the key of an executor that another has superseded, which then ends", async () => {
    const earlier = new KeyPair(relay.kem);
    const register = (key: KeyPair): Promise<{ status: number; json: Answer }> =>
      post(
        "register",
        { security_profile: "noise_hybrid_ik_v1", executor_public_key: writeKey(key.publicKey) },
        EXECUTOR_TOKEN,
      );
    expect(await register(earlier)).toMatchObject({ status: 200 });
    expect(await register(new KeyPair(relay.kem))).toMatchObject({ status: 200 });
    expect(await register(earlier)).toMatchObject({
      status: 409,
      json: { error: { code: "registration_conflict" } },
    });
  });
});
