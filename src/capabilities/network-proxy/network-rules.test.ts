import { describe, expect, it } from "vitest";
import { NetworkRules, type NetworkRulesConfig } from "./network-rules.ts";

function createRules(config: Partial<NetworkRulesConfig>): NetworkRules {
  return new NetworkRules({ mode: "full", allowLocal: false, allow: [], deny: [], review: [], ...config });
}

function judge(config: Partial<NetworkRulesConfig>, host: string): string {
  const verdict = createRules(config).judge(host);
  return verdict.allowed ? "allowed" : verdict.reason;
}

describe("rules", () => {
  it("allow what they list, and nothing else", () => {
    expect(judge({ allow: ["a.test"] }, "a.test")).toBe("allowed");
    expect(judge({ allow: ["a.test"] }, "b.test")).toBe("not_allowed");
    expect(judge({}, "a.test")).toBe("not_allowed");
  });

  it("deny before they allow", () => {
    expect(judge({ allow: ["a.test"], deny: ["*.test"] }, "a.test")).toBe("denied");
    expect(judge({ allow: ["*"], deny: ["a.test"] }, "a.test")).toBe("denied");
  });

  it("let only some hosts have private addresses", () => {
    const rules = createRules({
      allow: ["a.test", "b.test", "127.0.0.1"],
      localHosts: ["a.test", "*.c.test"],
    });
    const local = (host: string): unknown => rules.judgeAddress("10.0.0.1", rules.judge(host));
    expect(["a.test", "b.test", "127.0.0.1", "x.c.test"].map(local)).toEqual([
      undefined,
      "not_allowed_local",
      undefined,
      undefined,
    ]);
    expect(rules.judge("x.c.test").allowed).toBe(false);
  });

  it("ask about what is to be reviewed, even if it is allowed", () => {
    expect(judge({ allow: ["*"], review: ["a.test"] }, "a.test")).toBe("not_allowed");
    expect(judge({ allow: ["*"], review: ["a.test"], deny: ["a.test"] }, "a.test")).toBe("denied");
  });

  it("look up a host among very many, and compare it with wildcards of a bounded length only", () => {
    const hosts = Array.from({ length: 16_384 }, (_, at) => `h${at}.test`);
    expect(judge({ allow: hosts }, "h16383.test")).toBe("allowed");
    expect(() => createRules({ allow: hosts, review: ["a.test"] })).toThrow(
      "more than 16384 domain patterns",
    );
    // Fails only at its end, from every character of the host on.
    const costly = `**.${"a".repeat(125)}b`;
    const most = Math.floor((32 * 1024) / costly.length);
    const rules = createRules({ allow: ["*"], deny: Array.from({ length: most }, () => costly) });
    const begun = process.cpuUsage();
    expect(rules.judge("a".repeat(253)).allowed).toBe(true);
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1000).toBeLessThan(250);
    expect(() =>
      createRules({ allow: ["*"], review: Array.from({ length: most + 1 }, () => costly) }),
    ).toThrow("wildcards exceed 32768 characters");
  });

  it("deny an IPv4 address in the clothes of IPv6", () => {
    expect(judge({ allowLocal: true, allow: ["*"], deny: ["127.0.0.1"] }, "::ffff:127.0.0.1")).toBe("denied");
  });

  it.each(["localhost", "127.0.0.1", "::1", "10.0.0.1", "::ffff:10.0.0.1", "169.254.169.254"])(
    "allow %s where local addresses are, or where exactly it is listed",
    (host) => {
      expect(judge({ allow: ["*"] }, host)).toBe("not_allowed_local");
      expect(judge({}, host)).toBe("not_allowed_local");
      expect(judge({ allow: [`${host.slice(0, 3)}*`] }, host)).toBe("not_allowed_local");
      expect(judge({ allow: [host] }, host)).toBe("allowed");
      expect(judge({ allowLocal: true, allow: ["*"] }, host)).toBe("allowed");
      expect(judge({ allowLocal: true }, host)).toBe("not_allowed");
    },
  );

  it("judge the addresses of a name, however the name is listed", () => {
    const rules = createRules({ allow: ["a.test"], deny: ["1.1.1.1"] });
    const verdict = rules.judge("a.test");
    expect(rules.judgeAddress("127.0.0.1", verdict)).toBe("not_allowed_local");
    expect(rules.judgeAddress("::ffff:192.168.0.1", verdict)).toBe("not_allowed_local");
    expect(rules.judgeAddress("1.1.1.1", verdict)).toBe("denied");
    expect(rules.judgeAddress("1.0.0.1", verdict)).toBeUndefined();
  });

  it("permit only methods that change nothing in limited mode", () => {
    const rules = createRules({ mode: "limited" });
    const methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE", "get", ""];
    expect(methods.filter((method) => rules.permitsMethod(method))).toEqual(["GET", "HEAD", "OPTIONS"]);
    expect(createRules({}).permitsMethod("POST")).toBe(true);
  });

  it("cannot deny everything, which is what an empty list does", () => {
    for (const pattern of ["*", "[*]", "*:80", "**.*"])
      expect(() => createRules({ deny: [pattern] })).toThrow(
        `invalid value for network.denied_domains: ${pattern} (allowed exact hosts or scoped wildcards`,
      );
  });
});
