import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRelay } from "../../test/fixtures/fake-relay.ts";
import { UsageError } from "../base/errors.ts";
import { connect } from "../client/host/connect.ts";

/** More than half of it is left when the executor is given up, however busy the machine. */
const TIMEOUT_MS = 20_000;

let relay: FakeRelay;

beforeEach(async () => {
  relay = await FakeRelay.open();
});

afterEach(() => relay[Symbol.asyncDispose]());

const reach = (base = relay.base): Promise<unknown> =>
  connect({ relay: base, environmentId: "x" }, { connectTimeoutMs: TIMEOUT_MS, token: "secret" });

describe("an executor that is offline is reported as such", () => {
  const offline = "the executor 'x' is offline";

  test("until the time is over", async () => {
    relay.answer = () => relay.refused(409, "environment_offline");
    await expect(reach()).rejects.toThrow(offline);
    expect(relay.requests.length).toBeGreaterThan(2);
  });

  test("by a relay that then says nothing more", async () => {
    relay.answer = () =>
      relay.requests.length === 1 ? relay.refused(409, "environment_offline") : undefined;
    await expect(reach()).rejects.toThrow(offline);
  });
});

test.each(["http://relay.example:7600", "http://192.0.2.1"])(
  "a token is not sent to %s, which anyone could read",
  async (base) => {
    const error = await reach(base).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toContain("relay+https://");
  },
);
