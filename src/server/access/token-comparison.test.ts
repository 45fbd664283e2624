import { createHash, timingSafeEqual } from "node:crypto";
import { afterEach, expect, it, vi } from "vitest";
import { createAuthenticator } from "./authentication.ts";
import { FULL_RIGHTS } from "./rights.ts";

vi.mock("node:crypto", async (load) => {
  const actual = await load<typeof import("node:crypto")>();
  return { ...actual, timingSafeEqual: vi.fn(actual.timingSafeEqual) };
});

const TOKEN = "a token of some length";
const SHA256_BYTES = 32;
const ADMITTED = { credential: { principal: "token", rights: FULL_RIGHTS } };
const REFUSED = { refusal: "invalid websocket bearer token" };
const compare = vi.mocked(timingSafeEqual);
const { authenticate } = createAuthenticator({
  mode: "capability-token",
  tokenSha256: createHash("sha256").update(TOKEN).digest(),
});

afterEach(() => {
  compare.mockClear();
});

it("a token of any length is compared once, in constant time, as a hash of the same length", async () => {
  const wrong = ["x", `${TOKEN.slice(0, -1)}x`, `x${TOKEN.slice(1)}`, TOKEN + TOKEN, "y".repeat(8_000)];
  for (const token of [TOKEN, ...wrong]) {
    compare.mockClear();
    const answer = await authenticate({ authorization: `Bearer ${token}` });
    expect(answer).toEqual(token === TOKEN ? ADMITTED : REFUSED);
    const lengths = compare.mock.calls.map(([one, other]) => [one.byteLength, other.byteLength]);
    expect(lengths).toEqual([[SHA256_BYTES, SHA256_BYTES]]);
  }
});

it("nothing but that comparison decides", async () => {
  compare.mockReturnValueOnce(false);
  expect(await authenticate({ authorization: `Bearer ${TOKEN}` })).toEqual(REFUSED);
  compare.mockReturnValueOnce(true);
  expect(await authenticate({ authorization: "Bearer wrong" })).toEqual(ADMITTED);
});
