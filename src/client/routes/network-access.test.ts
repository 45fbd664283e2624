import { describe, expect, it } from "vitest";
import { networkParams, type NetworkAccess } from "./network-access.ts";

const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a server with a proxy is asked for. */
function asked(access: NetworkAccess) {
  const environment = { capabilities: { networkProxyLaunch: true } };
  return networkParams({ environment } as Parameters<typeof networkParams>[0], access);
}

const timeoutOf = (access: NetworkAccess) => asked(access).networkProxy?.policyDecisionTimeoutMs;
const decide = (): undefined => undefined;

describe("access to the network", () => {
  it("is refused by a server that has no proxy", () => {
    expect(() => networkParams({ environment: undefined }, {})).toThrow("network in process/start");
  });

  it("names hosts, and what is allowed there", () => {
    const allow = ["a.test", "*.b.test"];
    expect(asked({ allow, deny: ["c.b.test"], readOnly: true, local: true })).toMatchObject({
      networkProxy: {
        proxy: {
          enabled: true,
          mode: "limited",
          allowLocalBinding: true,
          allowUpstreamProxy: false,
          dangerouslyAllowAllUnixSockets: false,
          domains: { "a.test": "allow", "*.b.test": "allow", "c.b.test": "deny" },
        },
      },
      enforceManagedNetwork: true,
    });
  });

  it("denies a name that is in both lists", () => {
    const { proxy } = asked({ allow: ["a.test"], deny: ["a.test"] }).networkProxy!;
    expect(proxy).toMatchObject({ domains: { "a.test": "deny" }, mode: "full", allowLocalBinding: false });
  });

  it("waits for decisions as long as it is told, in whole milliseconds that a timer can wait", () => {
    expect(timeoutOf({})).toBeUndefined();
    expect(timeoutOf({ decide })).toBe(60_000);
    expect(timeoutOf({ decide, decisionTimeoutMs: 0.5 })).toBe(1);
    expect(timeoutOf({ decide, decisionTimeoutMs: 1e12 })).toBe(MAX_TIMER_MS);
    expect(() => asked({ decide, decisionTimeoutMs: 0 })).toThrow("decisionTimeoutMs must be greater than 0");
  });
});
