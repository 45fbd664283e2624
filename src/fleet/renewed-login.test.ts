import { expect, test } from "vitest";
import { renewedLogin } from "./address.ts";

const login = (held: Uint8Array) => () => {
  const text = Buffer.from(held).toString();
  if (text === "") throw new Error("no key");
  return { nkey: text, sig: "" };
};

test("a login uses what its file holds now, and what it held last while it cannot be used", () => {
  let held: string | undefined = "first";
  const authenticator = renewedLogin(() => {
    if (held === undefined) throw new Error("no file");
    return Buffer.from(held);
  }, login);
  expect(authenticator()).toMatchObject({ nkey: "first" });
  held = "second";
  expect(authenticator()).toMatchObject({ nkey: "second" });
  for (const gone of [undefined, ""]) {
    held = gone;
    expect(authenticator()).toMatchObject({ nkey: "second" });
  }
});

test("a file that could never be used is reported", () => {
  expect(() =>
    renewedLogin(() => {
      throw new Error("no file");
    }, login)(),
  ).toThrow("no file");
  expect(() => renewedLogin(() => new Uint8Array(0), login)()).toThrow("no key");
});
