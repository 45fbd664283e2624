import { createHash, createHmac } from "node:crypto";
import { userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { type AuthenticationPolicy, type Authenticator, createAuthenticator } from "./authentication.ts";

const TOO_MANY = { refusal: "too many wrong tokens from this address; try again in a few seconds" };
const FROM = "192.0.2.1:1";

const holderOf = (token: string): Authenticator =>
  createAuthenticator({
    mode: "capability-token",
    tokenSha256: createHash("sha256").update(token).digest(),
  });

it.each(["wrong", "wrong, and too long to be guessed"])(
  "a right token that cannot be guessed is admitted while others of its address wait or are refused: %s",
  async (wrong) => {
    const right = "0123456789abcdef".repeat(2);
    const { authenticate } = holderOf(right);
    const login = (token: string) => authenticate({ authorization: `Bearer ${token}`, from: FROM });
    for (let count = 0; count < 10; count += 1) expect(await login(wrong)).toHaveProperty("refusal");
    const waiting = Array.from({ length: 30 }, () => login(wrong));
    await Promise.race(waiting);
    expect(await login(wrong)).toEqual(TOO_MANY);
    expect(await login(right)).toHaveProperty("credential");
    expect(await login(wrong)).toEqual(TOO_MANY);
  },
);

it("a right token that could be guessed waits like the wrong ones of its address", async () => {
  const { authenticate } = holderOf("short");
  const login = (token: string) => authenticate({ authorization: `Bearer ${token}`, from: FROM });
  for (let count = 0; count < 10; count += 1) await login("wrong");
  const waiting = Array.from({ length: 30 }, () => login("wrong"));
  await Promise.race(waiting);
  expect(await login("short")).toEqual(TOO_MANY);
  expect(await authenticate({ authorization: "Bearer short", from: "192.0.2.2:1" })).toHaveProperty(
    "credential",
  );
});

it.each([
  [undefined, "missing websocket bearer token"],
  ["", "invalid authorization header"],
  ["Basic right", "invalid authorization header"],
  ["Bearer wrong", "invalid websocket bearer token"],
])("the header %j is refused, which is logged with the address", async (authorization, refusal) => {
  const logged: unknown[] = [];
  const { authenticate } = createAuthenticator(
    { mode: "capability-token", tokenSha256: createHash("sha256").update("right").digest() },
    { logger: { ...silentLogger, warn: (message, fields) => void logged.push([message, fields]) } },
  );
  expect(await authenticate({ authorization, from: FROM })).toEqual({ refusal });
  expect(logged).toEqual([["a login was refused", { reason: refusal, from: FROM }]]);
  expect(await authenticate({ authorization: "Bearer right", from: FROM })).toHaveProperty(
    "credential.principal",
    "token",
  );
  expect(logged).toHaveLength(1);
});

it.each<[unknown, string]>([
  [null, "the authentication mode must be"],
  [{ mode: "none" }, "the authentication mode must be"],
  [{ mode: "capability-token" }, "tokenSha256 must be"],
  [{ mode: "capability-token", tokenSha256: Buffer.alloc(31) }, "tokenSha256 must be"],
  [{ mode: "signed-bearer-token" }, "the secret must have at least 32 bytes"],
  [{ mode: "signed-bearer-token", secret: Buffer.alloc(31) }, "the secret must have at least 32 bytes"],
  [{ mode: "token-table", path: "" }, "path must be"],
  [{ mode: "token-table", path: 5 }, "path must be"],
])("the policy %j is refused", (policy, message) => {
  expect(() => createAuthenticator(policy as AuthenticationPolicy)).toThrow(message);
});

describe("a signed token", () => {
  const secret = Buffer.alloc(32, "s");
  const warnings: unknown[] = [];
  const { authenticate, ready } = createAuthenticator(
    { mode: "signed-bearer-token", secret, maxClockSkewSeconds: 0 },
    { logger: { ...silentLogger, warn: (message) => void warnings.push(message) } },
  );
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const login = (claims: object) => {
    const content = `${encode({ alg: "HS256" })}.${encode({ exp: 4_000_000_000, sub: "ann", ...claims })}`;
    const signature = createHmac("sha256", secret).update(content).digest("base64url");
    return authenticate({ authorization: `Bearer ${content}.${signature}` });
  };

  it("gives its subject the rights that it says, or all", async () => {
    await ready;
    const credential = { principal: "subject:ann", expiresAtMs: 4_000_000_001_000 };
    expect(await login({})).toMatchObject({ credential: { ...credential, rights: { preset: "full" } } });
    expect(await login({ exec_server: { preset: "observe" } })).toMatchObject({
      credential: { ...credential, rights: { preset: "observe" } },
    });
  });

  it.each([
    ["that are not known", { preset: "root" }],
    ["that make no sense", { preset: "full", roots: ["/srv"] }],
    ["of the server's own user", { preset: "full", run_as: userInfo().username }],
  ])("with rights %s is refused", async (_, rights) => {
    expect(await login({ exec_server: rights })).toEqual({ refusal: "invalid websocket jwt" });
  });

  it("whose rights make no sense is reported to the operator", async () => {
    warnings.length = 0;
    await login({ exec_server: { preset: "full", roots: ["/srv"] } });
    expect(warnings).toContain("the rights of a signed token are invalid");
  });
});

it("a table that cannot be read admits no clients, and says so", async () => {
  const errors: unknown[] = [];
  const policy = { mode: "token-table", path: "/no/such/table" } as const;
  const authenticator = createAuthenticator(policy, {
    logger: { ...silentLogger, error: (message) => void errors.push(message) },
  });
  await expect(authenticator.ready).rejects.toThrow("/no/such/table");
  await expect(authenticator.authenticate({ authorization: "Bearer x" })).rejects.toThrow("/no/such/table");
  expect(errors).toEqual(["no client is admitted"]);
  authenticator.close();
});
