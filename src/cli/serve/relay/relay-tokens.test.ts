import { expect, test } from "vitest";
import { parseTokens } from "../../../server/access/token-file.ts";
import { type RelayRights, relayFormat } from "./relay-tokens.ts";

async function rightsOf(...lines: string[]): Promise<RelayRights> {
  const head = ["[[token]]", 'name = "a"', `sha256 = "${"0".repeat(64)}"`];
  const [entry] = await parseTokens("t.toml", [...head, ...lines].join("\n"), relayFormat);
  return entry!.rights;
}

const MAY = 'may = ["register"]';

test("environments are names, or their starts", async () => {
  const { isFor } = await rightsOf(MAY, 'environments = ["build-1", "test-*"]');
  expect(["build-1", "build-12", "test-", "test-1", "other"].map(isFor)).toEqual([
    true,
    false,
    true,
    true,
    false,
  ]);
});

test("a name may be as long as an environment's", async () => {
  const id = "x".repeat(256);
  expect((await rightsOf(MAY, `environments = ["${id}"]`)).isFor(id)).toBe(true);
});

test("environments cannot be left out", async () => {
  await expect(rightsOf(MAY)).rejects.toThrow(
    't.toml:1: environments is missing; name them, or write environments = ["*"] for all',
  );
  expect((await rightsOf(MAY, 'environments = ["*"]')).isFor("any")).toBe(true);
});

test.each(['"a b"', '"*a"', '""', "1"])("%s is not the name of an environment", async (name) => {
  await expect(rightsOf(MAY, `environments = [${name}]`)).rejects.toThrow("environments must be an array");
});
