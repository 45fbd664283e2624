import { expect, it } from "vitest";
import { shownUrl } from "./shown-url.ts";

it.each([
  ["ws://127.0.0.1:1", "ws://127.0.0.1:1"],
  ["ws://user:pass@host:1/path", "ws://host:1/path"],
  ["ws://a@b:c@host/@x", "ws://host/@x"],
  ["ws://token@host?token=secret#token", "ws://host"],
  ["wss://host/p?access_token=secret", "wss://host/p"],
  ["no url?secret", "no url"],
])("%s is shown as %s", (url, shown) => {
  expect(shownUrl(url)).toBe(shown);
});
