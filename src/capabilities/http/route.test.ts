import { describe, expect, it } from "vitest";
import { findProxy } from "./route.ts";

const proxyFor = (url: string, environment: Record<string, string>): string | undefined =>
  findProxy(new URL(url), environment)?.host;

describe("findProxy", () => {
  it("goes the direct way without a word in the environment", () => {
    expect(proxyFor("http://a/", {})).toBeUndefined();
    expect(proxyFor("http://a/", { HTTP_PROXY: "" })).toBeUndefined();
  });

  it("takes the variable of the scheme, then that for all, capitals first", () => {
    const environment = { HTTP_PROXY: "http://one:1", http_proxy: "http://two:2", ALL_PROXY: "three:3" };
    expect(proxyFor("http://a/", environment)).toBe("one:1");
    expect(proxyFor("https://a/", environment)).toBe("three:3");
  });

  it("does not believe HTTP_PROXY in a CGI program", () => {
    expect(proxyFor("http://a/", { HTTP_PROXY: "http://one:1", REQUEST_METHOD: "GET" })).toBeUndefined();
  });

  it.each([
    ["http://a.example/", "example", true],
    ["http://a.example/", ".example", true],
    ["http://aexample/", "example", false],
    ["http://10.1.2.3/", "10.0.0.0/8", true],
    ["http://10.1.2.3/", "10.1.2.4", false],
    ["http://[::1]:9/", "::/64", true],
    ["http://10.1.2.3/", "10.0.0.0/99", false],
    ["http://anything/", "x, *", true],
  ])("%s with NO_PROXY %s", (url, list, direct) => {
    expect(proxyFor(url, { ALL_PROXY: "http://p:1", NO_PROXY: list }) === undefined).toBe(direct);
  });
});
