import { expect, it, vi } from "vitest";
import { namedSecrets, ownSecretValues } from "./secret-flags.ts";

it.each([
  ["A_KEY", { name: "A_KEY" }],
  ["A_KEY=a.test", { name: "A_KEY", hosts: ["a.test"] }],
  ["A_KEY=a.test, *.b.test", { name: "A_KEY", hosts: ["a.test", "*.b.test"] }],
  ["A_KEY=https://a.test/?x=y", { name: "A_KEY", hosts: ["https://a.test/?x=y"] }],
])("%s names a secret", (text, named) => {
  expect(namedSecrets([text])).toEqual([named]);
});

it.each(["", "=a.test", "A_KEY=", "A_KEY=a.test,"])("'%s' does not", (text) => {
  expect(() => namedSecrets([text])).toThrow("--secret needs NAME or NAME=HOST");
});

it("takes the values of this shell", () => {
  vi.stubEnv("A_KEY", "value");
  vi.stubEnv("B_KEY", undefined);
  expect(ownSecretValues(["A_KEY=a.test", "B_KEY"])).toEqual([["A_KEY", "value"]]);
  vi.unstubAllEnvs();
});
