import { expect, it } from "vitest";
import { LINK_LIFETIME_MS, LinkTokens, MAX_LINKS_OF_ONE } from "./link-tokens.ts";

it("a link works once, for its holder", () => {
  const links = new LinkTokens<string>();
  const [first, second] = [links.create("ann"), links.create("bob")];
  expect(links.spend(second.token)).toEqual({ state: "valid", holder: "bob" });
  expect(links.spend(second.token)).toEqual({ state: "spent" });
  expect(links.spend(first.token)).toEqual({ state: "valid", holder: "ann" });
  expect(links.spend(`${first.token}A`)).toEqual({ state: "unknown" });
});

it("a link expires", () => {
  let now = 1_000;
  const links = new LinkTokens<string>(() => now);
  const [first, second] = [links.create("ann"), links.create("bob")];
  expect(first.expiresAtMs).toBe(1_000 + LINK_LIFETIME_MS);
  now = first.expiresAtMs - 1;
  expect(links.spend(first.token).state).toBe("valid");
  now = second.expiresAtMs;
  expect(links.spend(second.token)).toEqual({ state: "expired" });
  expect(links.spend(second.token)).toEqual({ state: "expired" });
});

it("a flood of links of one holder keeps only its newest, and all those of others", () => {
  const links = new LinkTokens<string>();
  const ann = links.create("ann");
  const tokens = Array.from({ length: 1_000 }, () => links.create("bob").token);
  const states = tokens.map((token) => links.spend(token).state);
  expect(states.filter((state) => state === "valid")).toHaveLength(MAX_LINKS_OF_ONE);
  expect(states.slice(-MAX_LINKS_OF_ONE).every((state) => state === "valid")).toBe(true);
  expect(states[0]).toBe("unknown");
  expect(links.spend(ann.token).state).toBe("valid");
});

it("links of many holders have a bound, too", () => {
  const links = new LinkTokens<number>();
  const tokens = Array.from({ length: 1_500 }, (_, index) => links.create(index).token);
  const states = tokens.map((token) => links.spend(token).state);
  expect(states.filter((state) => state === "valid")).toHaveLength(1_024);
});
