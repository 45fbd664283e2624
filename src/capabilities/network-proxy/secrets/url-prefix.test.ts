import { describe, expect, it } from "vitest";
import { UrlPrefix } from "./url-prefix.ts";

const target = (url: string) => {
  const { protocol, hostname, port } = new URL(url);
  return {
    scheme: protocol === "https:" ? ("https" as const) : ("http" as const),
    host: hostname.replaceAll(/[[\]]/g, ""),
    port: Number(port || (protocol === "https:" ? 443 : 80)),
    path: url.slice(url.indexOf("/", 8)),
  };
};

describe("a prefix of URLs", () => {
  it.each<[string, string, boolean]>([
    ["https://a.test", "https://a.test/", true],
    ["a.test", "https://a.test/x?y", true],
    ["A.Test.", "https://a.test/", true],
    ["https://a.test", "http://a.test/", false],
    ["https://a.test", "https://a.test:8443/", false],
    ["https://a.test:8443/", "https://a.test:8443/", true],
    ["https://a.test:443", "https://a.test/", true],
    ["https://a.test", "https://b.a.test/", false],
    ["https://a.test", "https://xa.test/", false],
    ["*.a.test", "https://b.a.test/", true],
    ["*.a.test", "https://c.b.a.test/", true],
    ["*.a.test", "https://a.test/", false],
    ["*.a.test", "https://xa.test/", false],
    ["localhost:8080", "http://localhost:8080/", true],
    ["localhost:8080", "https://localhost:8080/", false],
    ["http://127.0.0.1", "http://127.0.0.1/", true],
    ["https://localhost", "https://localhost/", true],
    ["https://[::1]:1/", "https://[::1]:1/", true],
    ["a.test/v1", "https://a.test/v1", true],
    ["a.test/v1", "https://a.test/v1/x", true],
    ["a.test/v1", "https://a.test/v1?x", true],
    ["a.test/v1/", "https://a.test/v1/x", true],
    ["a.test/v1", "https://a.test/v10", false],
    ["a.test/v1", "https://a.test/V1", false],
    ["a.test/v1", "https://a.test/v1/../v2", false],
    ["a.test/v1", "https://a.test/v1/..", false],
    ["a.test/v1", "https://a.test/v1/%2E%2e/v2", false],
    ["a.test/v1", "https://a.test/v1/..%2Fv2", false],
    ["a.test/v1", "https://a.test/v1/%5c..%5cv2", false],
    ["a.test/v1", "https://a.test/v1//x", false],
    ["a.test/v1", "https://a.test/v1/..\\v2", false],
    ["a.test/v1", "https://a.test/v1/x?/../", true],
    ...[
      "..;/v2",
      "..%3b/x",
      "..%00/x",
      "...",
      "%252e%252e/v2",
      "%c0%ae%c0%ae/x",
      ".;/x",
      "..x",
      "%252fx",
      "%2",
    ].map((path): [string, string, boolean] => ["a.test/v1", `https://a.test/v1/${path}`, false]),
    ["a.test/v1", "https://a.test/v1/.well-known/a.b/c..d/~e/f%20g", false],
    ["a.test/v1", "https://a.test/v1/.well-known/a.b/c..d/~e/f%C3%A4;g=1", true],
    ["a.test", "https://a.test/v1/../v2", true],
  ])("%s and %s: %s", (prefix, url, matches) => {
    expect(new UrlPrefix(prefix).matches(target(url))).toBe(matches);
  });

  it.each([
    ["a.test", "a.test/v1", true],
    ["a.test", "https://a.test:443", true],
    ["a.test/v1", "a.test", false],
    ["a.test/v1", "a.test/v1/x", true],
    ["a.test/v1", "a.test/v10", false],
    ["a.test/v1", "a.test/v1/../v2", false],
    ["a.test", "b.test", false],
    ["a.test", "a.test:8443", false],
    ["a.test", "*.a.test", false],
    ["x.a.test", "*.a.test", false],
    ["*.a.test", "b.a.test", true],
    ["*.a.test", "*.a.test", true],
    ["*.a.test", "*.b.a.test", true],
    ["*.a.test", "a.test", false],
    ["*.a.test", "*.test", false],
    ["*.a.test", "xa.test", false],
    ["https://localhost", "localhost", false],
  ])("%s includes %s: %s", (outer, inner, includes) => {
    expect(new UrlPrefix(outer).includes(new UrlPrefix(inner))).toBe(includes);
  });

  it.each([
    "",
    "https://",
    "https://*",
    "https://*.*",
    "http://a.test",
    "http://*.localhost",
    "ftp://a.test",
    "https://u@a.test",
    "https://a.test?x",
    "https://a.test/#x",
    "https://a b",
    "https://a.test:99999",
    "https://a.test:0",
  ])("cannot be %s", (text) => {
    expect(() => new UrlPrefix(text)).toThrow(/destination/);
  });
});
