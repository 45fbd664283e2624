import { expect, it } from "vitest";
import { bearerToken } from "./bearer-token.ts";

it.each([
  ["Bearer secret", "secret"],
  ["bearer secret", "secret"],
  ["BEARER  \tsecret ", "secret"],
  ["Bearer a b", "a b"],
  ["Basic secret", undefined],
  ["Bearer ", undefined],
  ["Bearer", undefined],
  ["secret", undefined],
  ["", undefined],
  [" Bearer secret", undefined],
  ["Bearer s\u00e9cret", undefined],
  ["Bearer secret\n", undefined],
])("the header %j has the token %j", (header, token) => {
  expect(bearerToken(header)).toBe(token);
});
