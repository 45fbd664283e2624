import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { SECRET_LIFETIME_MS, SessionSecrets } from "./session-secrets.ts";

const KEY = randomBytes(32);
const sealing = (audience = "ws://127.0.0.1:1", key = KEY, now = () => 0) =>
  new SessionSecrets(
    () => key,
    () => audience,
    now,
  );

it("a secret gives back its holder, and shows nothing of the token", () => {
  const secret = sealing().seal({ bearer: "a token of ann" });
  expect(sealing().open(secret)).toEqual({ bearer: "a token of ann" });
  expect(sealing().open(sealing().seal({ bearer: undefined }))).toEqual({ bearer: undefined });
  expect(Buffer.from(secret.slice(5), "base64url").includes("ann")).toBe(false);
  expect(sealing().seal({ bearer: "a token of ann" })).not.toBe(secret);
});

it("a secret is over after its time, and elsewhere", () => {
  const secret = sealing().seal({ bearer: undefined });
  expect(sealing(undefined, KEY, () => SECRET_LIFETIME_MS - 1).open(secret)).toBeDefined();
  expect(sealing(undefined, KEY, () => SECRET_LIFETIME_MS).open(secret)).toBeUndefined();
  expect(sealing("ws://127.0.0.1:2").open(secret)).toBeUndefined();
  expect(sealing(undefined, randomBytes(32)).open(secret)).toBeUndefined();
});

it("nothing that was altered or made up is opened", () => {
  const secret = sealing().seal({ bearer: "token" });
  const wrong = [
    "",
    "esc1_",
    "esc1_%",
    secret.toUpperCase(),
    `${secret} `,
    `${secret}=`,
    "x".repeat(100_000),
  ];
  for (let at = 0; at < secret.length; at += 1)
    wrong.push(
      secret.slice(0, at) + (secret[at] === "A" ? "B" : "A") + secret.slice(at + 1),
      secret.slice(0, at),
    );
  expect(wrong.filter((text) => sealing().open(text) !== undefined)).toEqual([]);
});
