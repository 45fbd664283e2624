import { expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { transportsTo } from "./connect.ts";
import { relayTargetOf } from "./relay-url.ts";

const PRINT = "SHA256:dGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHR";

it.each([
  ["relay+http://127.0.0.1:80/build-1", { relay: "http://127.0.0.1", environmentId: "build-1" }],
  ["relay+https://r.example:8443/b", { relay: "https://r.example:8443", environmentId: "b" }],
  ["relay+https://r.example/a/base/b%20c", { relay: "https://r.example/a/base", environmentId: "b c" }],
  [
    `relay+https://r.example/b#${PRINT}`,
    { relay: "https://r.example", environmentId: "b", executorKey: PRINT },
  ],
])("%s is an executor behind a relay", (url, target) => {
  expect(relayTargetOf(url)).toEqual(target);
});

it.each(["ws://127.0.0.1:1/x", "http://127.0.0.1/x", "relay://h/x", "relay+ws://h/x"])("%s is none", (url) =>
  expect(relayTargetOf(url)).toBeUndefined(),
);

it.each([
  "relay+http://",
  "relay+https://h",
  "relay+https://h/",
  "relay+https://u@h/x",
  "relay+https://h/x?y",
])("%s is refused", (url) => expect(() => relayTargetOf(url)).toThrow(/^invalid URL/));

it.each(["SHA256:short", "sha1:x", "ANY"])("the pinned key '%s' is refused at once", (key) => {
  expect(() => relayTargetOf(`relay+https://r.example/b#${key}`)).toThrow(`invalid executor key '${key}'`);
  expect(() =>
    transportsTo({ relay: "https://r.example", environmentId: "b", executorKey: key }, {}),
  ).toThrow(UsageError);
});
