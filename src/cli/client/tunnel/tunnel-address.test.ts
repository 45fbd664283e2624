import { expect, test } from "vitest";
import { parseListenAddress, parseTunnelAddress, shownAddress } from "./tunnel-address.ts";

test.each([
  ["8080:localhost:80", { bind: "127.0.0.1", localPort: 8080, target: { host: "localhost", port: 80 } }],
  ["0:10.0.0.1:5432", { bind: "127.0.0.1", localPort: 0, target: { host: "10.0.0.1", port: 5432 } }],
  [
    "0.0.0.0:1:a.example:65535",
    { bind: "0.0.0.0", localPort: 1, target: { host: "a.example", port: 65535 } },
  ],
  ["[::1]:9:[fe80::1]:22", { bind: "::1", localPort: 9, target: { host: "fe80::1", port: 22 } }],
])("%s is a tunnel", (text, address) => expect(parseTunnelAddress(text)).toEqual(address));

test.each([
  "",
  "80",
  "80:host",
  "80:host:",
  "host:80",
  "1:2:3:4:5",
  "a:b:c:1",
  "::1:80:h:80",
  "1::80",
  "1:[]:80",
])("%s is none", (text) => expect(() => parseTunnelAddress(text)).toThrow("is not a tunnel"));

test.each(["65536:h:1", "1:h:65536", "1:h:0", "99999:h:1"])("%s has no such port", (text) =>
  expect(() => parseTunnelAddress(text)).toThrow("an invalid port"),
);

test("an IPv6 address is shown in brackets", () => {
  expect(shownAddress("::1", 80)).toBe("[::1]:80");
  expect(shownAddress("127.0.0.1", 80)).toBe("127.0.0.1:80");
});

test.each([
  ["1080", { bind: "127.0.0.1", localPort: 1080 }],
  ["[::]:0", { bind: "::", localPort: 0 }],
  ["a.example:65535", { bind: "a.example", localPort: 65_535 }],
])("%s is an address to listen on", (text, address) => expect(parseListenAddress(text)).toEqual(address));

test.each(["", "x", "65536", "::1:80", "80:", "1:2:3", "-1"])("%s is no address to listen on", (text) =>
  expect(() => parseListenAddress(text)).toThrow("Expected [BIND:]PORT"),
);
