import { isIPv4 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalIp, embeddedIpv4, isLocalIp, isLoopbackIp } from "./ip-address.ts";

describe("canonicalIp", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["::FFFF:7f00:1", "::ffff:127.0.0.1"],
    ["::ffff:127.0.0.1", "::ffff:127.0.0.1"],
    ["2001:DB8:0::0:1", "2001:db8::1"],
    ["::127.0.0.1", "::7f00:1"],
  ])("spells %s as %s", (text, expected) => {
    expect(canonicalIp(text)).toBe(expected);
  });

  it.each([
    "",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "fe80::1%eth0",
    "[::1]",
  ])("does not take %j for an address", (text) => {
    expect(canonicalIp(text)).toBeUndefined();
  });

  it("spells every address in one way", () => {
    fc.assert(
      fc.property(fc.ipV6(), (ip) => {
        const canonical = canonicalIp(ip)!;
        expect(canonicalIp(canonical)).toBe(canonical);
        expect(canonicalIp(ip.toUpperCase())).toBe(canonical);
      }),
    );
  });
});

describe("isLocalIp", () => {
  it.each([
    ..."0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254".split(
      " ",
    ),
    ..."172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.168.1.1 198.18.0.1 198.19.255.255".split(" "),
    ..."198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255".split(" "),
    ...":: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1".split(" "),
    ..."2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 fc00::1 fdff::1 fe80::1 fec0::1 ff02::1".split(
      " ",
    ),
    // Every form of an IPv4 address within IPv6, above all of 127.0.0.1 and 169.254.169.254.
    ..."::a9fe:a9fe ::ffff:a9fe:a9fe ::ffff:0:7f00:1 ::ffff:0:a9fe:a9fe ::ffff:0:101:101 64:ff9b::a9fe:a9fe".split(
      " ",
    ),
    ..."64:ff9b:1::7f00:1 64:ff9b:1:ffff:a9fe:a9fe:: 2001:0:7f00:1::1 2001::5601:5601 2002:a9fe:a9fe::1".split(
      " ",
    ),
    ..."fe80::5efe:7f00:1 2606:4700::5efe:7f00:1 2606:4700::5efe:a9fe:a9fe 2606:4700::200:5efe:a00:1".split(
      " ",
    ),
    // Unassigned: segment routing, and the rest of IPv6.
    ..."5f00::1 4000::1 1fff::1 8000::1 c000::1 e000::1 f000::1 fe00::1 100:0:0:1::1 200::1 1::1".split(" "),
  ])("is true for %s", (ip) => {
    expect(isLocalIp(canonicalIp(ip)!)).toBe(true);
  });

  it.each([
    ..."1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0".split(" "),
    ..."172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255".split(
      " ",
    ),
    ..."2001:200::1 2606:4700::1111 2002:101:101::1 64:ff9b::101:101 ::ffff:1.1.1.1".split(" "),
    ..."2a00:1450::1 3ffe::1 2606:4700::5efe:101:101 2606:4700::100:5efe:7f00:1".split(" "),
  ])("is false for %s", (ip) => {
    expect(isLocalIp(canonicalIp(ip)!)).toBe(false);
  });

  it("sees through every way in which IPv6 carries an IPv4 address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (ipv4) => {
        const hex = Buffer.from(ipv4.split(".").map(Number)).toString("hex");
        const groups = `${hex.slice(0, 4)}:${hex.slice(4)}`;
        for (const text of [
          `::ffff:${ipv4}`,
          `::ffff:${groups}`,
          `64:ff9b::${groups}`,
          `2002:${groups}::`,
          `2606:4700::5efe:${groups}`,
        ]) {
          const ip = canonicalIp(text)!;
          expect([ip, embeddedIpv4(ip), isLocalIp(ip)]).toEqual([ip, ipv4, isLocalIp(ipv4)]);
        }
        for (const text of [`::ffff:0:${groups}`, `64:ff9b:1::${groups}`]) {
          const ip = canonicalIp(text)!;
          expect([ip, embeddedIpv4(ip), isLocalIp(ip)]).toEqual([ip, ipv4, true]);
        }
      }),
    );
  });

  it("finds no IPv4 address in others", () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const ip = canonicalIp(text)!;
        const embedded = embeddedIpv4(ip);
        expect(embedded === undefined || isIPv4(embedded)).toBe(true);
      }),
    );
    expect(["2606:4700::1", "::1", "::"].map(embeddedIpv4)).toEqual([undefined, undefined, undefined]);
  });
});

it("knows loopback addresses", () => {
  expect(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::ffff:0:7f00:1"].every(isLoopbackIp)).toBe(
    true,
  );
  expect(["10.0.0.1", "::2", "::ffff:10.0.0.1", "1.127.0.0"].some(isLoopbackIp)).toBe(false);
});
