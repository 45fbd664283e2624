import { describe, expect, it } from "vitest";
import { proxyEnvironment } from "./proxy-environment.ts";

const noProxy = (secretHosts: readonly string[], allowLocal = true): string | undefined =>
  proxyEnvironment({ httpPort: 1, socksPort: undefined, allowLocal, secretHosts }).get("NO_PROXY");

describe("the addresses that programs reach without the proxy", () => {
  it.each([
    [[], "localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"],
    [["api.example.com"], "localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"],
    [["localhost", "::1"], "127.0.0.1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"],
    [["172.31.0.1", "10.1.2.3"], "localhost,127.0.0.1,::1,192.168.0.0/16"],
    [["172.32.0.1"], "localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"],
  ])("are not those of the secrets %j", (hosts, places) => {
    expect(noProxy(hosts)).toBe(places);
  });

  it("are none where local addresses are not allowed", () => {
    expect(noProxy([], false)).toBe("");
  });
});
