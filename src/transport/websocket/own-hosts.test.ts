import { describe, expect, it } from "vitest";
import { hostOf, ownHosts } from "./own-hosts.ts";

describe("the Host of a request", () => {
  it.each([
    ["localhost", "localhost"],
    ["LocalHost:80", "localhost"],
    ["localhost.", "localhost"],
    ["localhost.:8080", "localhost"],
    ["127.0.0.1:", "127.0.0.1"],
    ["[::1]:8080", "::1"],
    ["[0:0:0:0:0:0:0:1]", "::1"],
    ["a_b.example-1.org:1", "a_b.example-1.org"],
  ])("%s is %s", (header, host) => {
    expect(hostOf(header)).toBe(host);
  });

  it.each([
    "",
    ":80",
    "user@localhost",
    "localhost:80@evil.example",
    "localhost/",
    "localhost?",
    "localhost#",
    "local%68ost",
    "localhost, evil.example",
    "localhost evil.example",
    "[::1%25lo]",
    "[::1",
    "::1",
    "[localhost]",
    "[127.0.0.1]",
    "localhost:123456",
    "localhost:-1",
    "ⓛocalhost",
    "a".repeat(300),
  ])("%j is none", (header) => {
    expect(hostOf(header)).toBeUndefined();
  });

  const loopback = ownHosts({ address: "127.0.0.1", names: ["Build.Example", "2001:DB8:0::1"] });
  const everywhere = ownHosts({ address: "0.0.0.0", names: [] });
  const one = ownHosts({ address: "192.0.2.7", names: [] });

  it.each([
    "localhost:1",
    "127.0.0.1",
    "127.1.2.3",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "build.example:443",
    "[2001:db8::1]",
  ])("%s names a server on loopback that has a public name", (host) => {
    expect(loopback(host)).toBe(true);
  });

  it.each([
    "evil.example",
    "localhost.evil.example",
    "evil.localhost",
    "127.0.0.1.evil.example",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0.0.0.0",
    "[::]",
    "192.0.2.7",
    "build.example.evil",
    "build.example..",
  ])("%s does not", (host) => {
    expect(loopback(host)).toBe(false);
  });

  it("is any address, but no name, for a server that listens on all of them", () => {
    expect(["192.0.2.7:1", "[2001:db8::2]", "127.0.0.1", "localhost"].every(everywhere)).toBe(true);
    expect(["evil.example", "192.0.2.7.evil.example", "3221225991"].some(everywhere)).toBe(false);
  });

  it("is its own address, or loopback, for a server that listens on one", () => {
    expect(["192.0.2.7", "127.0.0.1", "localhost"].every(one)).toBe(true);
    expect(["192.0.2.8", "evil.example"].some(one)).toBe(false);
  });
});
