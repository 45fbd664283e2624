import { createHmac } from "node:crypto";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { checkSignedToken, type SignedTokenPolicy } from "./signed-token.ts";

const SECRET = Buffer.alloc(32, "s");
const NOW_S = 1_800_000_000;
const INVALID = { refusal: "invalid websocket jwt" };

const encode = (value: string | Buffer): string => Buffer.from(value).toString("base64url");

/** `claims` is the JSON of the payload. */
function sign(
  claims: string | Buffer,
  { header = '{"alg":"HS256","typ":"JWT"}', secret = SECRET } = {},
): string {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${createHmac("sha256", secret).update(content).digest("base64url")}`;
}

const check = (token: string, policy: Partial<SignedTokenPolicy> = {}) =>
  checkSignedToken(token, { secret: SECRET, maxClockSkewSeconds: 30, ...policy });
const checkClaims = (claims: object, policy: Partial<SignedTokenPolicy> = {}) =>
  check(sign(JSON.stringify({ exp: NOW_S + 100, ...claims })), policy);
const valid = (exp = NOW_S + 100) => ({ rights: undefined, expiresAtMs: (exp + 31) * 1_000 });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_S * 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

it("a token is valid for the whole of its last second, and for the clocks' difference after it", async () => {
  expect(await checkClaims({})).toEqual(valid());
  expect(await checkClaims({ exp: NOW_S - 30 })).toEqual({
    rights: undefined,
    expiresAtMs: (NOW_S + 1) * 1_000,
  });
  expect(await checkClaims({ exp: NOW_S - 31 })).toEqual({ refusal: "expired websocket jwt" });
  expect(await checkClaims({ exp: -5 })).toEqual({ refusal: "expired websocket jwt" });
});

it("a token is not valid before its time, except for the clocks' difference", async () => {
  expect(await checkClaims({ nbf: NOW_S + 30 })).toEqual(valid());
  expect(await checkClaims({ nbf: NOW_S + 31 })).toEqual({ refusal: "websocket jwt is not valid yet" });
  expect(await checkClaims({ nbf: null })).toEqual(valid());
});

it("a token is of the issuer and for the audience that the server wants, if it wants any", async () => {
  const issuer = "i";
  const audience = "a";
  const mismatch = (what: string) => ({ refusal: `websocket jwt ${what} mismatch` });
  expect(await checkClaims({ iss: "i" }, { issuer })).toEqual(valid());
  for (const iss of ["j", null, undefined])
    expect(await checkClaims({ iss }, { issuer })).toEqual(mismatch("issuer"));
  expect(await checkClaims({ iss: "j", aud: "b" })).toEqual(valid());
  for (const aud of ["a", ["a"], ["b", "a"]])
    expect(await checkClaims({ aud }, { audience })).toEqual(valid());
  for (const aud of ["b", ["b"], [], null, undefined])
    expect(await checkClaims({ aud }, { audience })).toEqual(mismatch("audience"));
});

it.each([
  ["no token", "abc"],
  ["a token of another secret", sign(`{"exp":${NOW_S + 100}}`, { secret: Buffer.alloc(32, "t") })],
  ["an unsigned token", `${encode('{"alg":"none"}')}.${encode(`{"exp":${NOW_S + 100}}`)}.`],
  ["another algorithm", sign(`{"exp":${NOW_S + 100}}`, { header: '{"alg":"HS512"}' })],
  ["a type that is no text", sign(`{"exp":${NOW_S + 100}}`, { header: '{"alg":"HS256","typ":5}' })],
  ["claims that are no object", sign("[]")],
  ["null", sign("null")],
  ["text that is not UTF-8", sign(Buffer.from('{"exp":2000000000,"sub":"\xff"}', "latin1"))],
  ["no end", sign("{}")],
  ["an end with a fraction", sign(`{"exp":${NOW_S + 100}.0}`)],
  ["an end with an exponent", sign('{"exp":2e9}')],
  ["an end as text", sign('{"exp":"2000000000"}')],
  ["an end that does not fit into 64 bits", sign('{"exp":9223372036854775808}')],
  ["a beginning with a fraction", sign('{"exp":2000000000,"nbf":1.5}')],
  ["an issuer that is no text", sign('{"exp":2000000000,"iss":5}')],
  ["an audience that is no text", sign('{"exp":2000000000,"aud":["a",5]}')],
  ["rights that are no object", sign('{"exp":2000000000,"exec_server":"full"}')],
  ["rights that are null", sign('{"exp":2000000000,"exec_server":null}')],
  ["a right that is not known", sign('{"exp":2000000000,"exec_server":{"preset":"full","admin":true}}')],
  ["a preset that is not known", sign('{"exp":2000000000,"exec_server":{"preset":"root"}}')],
])("%s is refused, and no more is told", async (_, token) => {
  expect(await check(token)).toEqual(INVALID);
});

it("the largest end that 64 bits can hold is an end", async () => {
  expect(await check(sign('{"exp":9223372036854775807}'))).toMatchObject({ rights: undefined });
});

it("a token may say what its holder may do", async () => {
  const rights = { preset: "observe", see: ["ann"] };
  expect(await checkClaims({ exec_server: rights })).toEqual({ ...valid(), rights });
});
