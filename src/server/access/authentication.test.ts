import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { type Authenticator, createAuthenticator } from "./authentication.ts";

const TOO_MANY = { refusal: "too many wrong tokens from this address; try again in some seconds" };
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
