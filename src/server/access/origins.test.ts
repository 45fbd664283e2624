import { describe, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { checkedOrigin, publicHost } from "./origins.ts";

describe("an origin that may connect", () => {
  it.each(["https://example.com", "http://localhost:3000", "http://[::1]:8080", "vscode-webview://1abc"])(
    "can be %s",
    (origin) => {
      expect(checkedOrigin(origin)).toBe(origin);
    },
  );

  it.each([
    "*",
    "null",
    "",
    "example.com",
    "https://*.example.com",
    "https://example.com/",
    "https://Example.com",
    "https://example.com:443",
    "https://user@example.com",
    "https://example.com/page",
    "https://a b",
    "file://",
  ])("cannot be %j, which no browser sends or which is everybody", (origin) => {
    expect(() => checkedOrigin(origin)).toThrow(UsageError);
  });
});

describe("a public URL", () => {
  it.each([
    ["wss://exec.example.com", "exec.example.com"],
    ["https://Exec.Example.com:8443/path?x", "exec.example.com"],
    ["ws://[2001:db8::1]:80", "2001:db8::1"],
  ])("%s has the host %s", (url, host) => {
    expect(publicHost(url)).toBe(host);
  });

  it.each(["exec.example.com", "", "ftp://x", "https://", "localhost:80", "*"])("cannot be %j", (url) => {
    expect(() => publicHost(url)).toThrow(UsageError);
  });
});
