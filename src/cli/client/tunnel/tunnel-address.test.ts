import { expect, test } from "vitest";
import { parseListenAddress, parseTunnelAddress, shownAddress } from "./tunnel-address.ts";

test.each([
  ["8080:localhost:80", { bind: "127.0.0.1", port: 8080 }, { host: "localhost", port: 80 }],
  ["0:10.0.0.1:5432", { bind: "127.0.0.1", port: 0 }, { host: "10.0.0.1", port: 5432 }],
  ["0.0.0.0:1:a.example:65535", { bind: "0.0.0.0", port: 1 }, { host: "a.example", port: 65535 }],
  ["[::1]:9:[fe80::1]:22", { bind: "::1", port: 9 }, { host: "fe80::1", port: 22 }],
  ["8080:/run/app.sock", { bind: "127.0.0.1", port: 8080 }, { path: "/run/app.sock" }],
  ["[::]:80:/run/app.sock", { bind: "::", port: 80 }, { path: "/run/app.sock" }],
  ["/tmp/a b.sock:localhost:80", { path: "/tmp/a b.sock" }, { host: "localhost", port: 80 }],
  ["/tmp/8080:/run/80", { path: "/tmp/8080" }, { path: "/run/80" }],
])("%s is a tunnel", (text, listen, target) => expect(parseTunnelAddress(text)).toEqual({ listen, target }));

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
  "/run/a.sock",
  "/run/a.sock:80",
  "a.sock:localhost:80",
  "80:run/a.sock",
  "80:host:/run/a.sock",
  "80:/run/a:b",
  "host:/run/a.sock",
  "80:/",
])("%s is none", (text) => expect(() => parseTunnelAddress(text)).toThrow("is not a tunnel"));

test.each(["65536:h:1", "1:h:65536", "1:h:0", "99999:h:1"])("%s has no such port", (text) =>
  expect(() => parseTunnelAddress(text)).toThrow("an invalid port"),
);

test("a socket is shown as its path", () => expect(shownAddress({ path: "/a" })).toBe("/a"));

test("an IPv6 address is shown in brackets", () => {
  expect(shownAddress({ address: "::1", port: 80 })).toBe("[::1]:80");
  expect(shownAddress({ bind: "::1", port: 80 })).toBe("[::1]:80");
  expect(shownAddress({ host: "127.0.0.1", port: 80 })).toBe("127.0.0.1:80");
});

test.each([
  ["1080", { bind: "127.0.0.1", port: 1080 }],
  ["[::]:0", { bind: "::", port: 0 }],
  ["a.example:65535", { bind: "a.example", port: 65_535 }],
])("%s is an address to listen on", (text, address) => expect(parseListenAddress(text)).toEqual(address));

test.each(["", "x", "65536", "::1:80", "80:", "1:2:3", "-1"])("%s is no address to listen on", (text) =>
  expect(() => parseListenAddress(text)).toThrow("Expected [BIND:]PORT"),
);
