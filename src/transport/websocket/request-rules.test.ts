import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { isOwnPage, refuseRequest, type RequestRules } from "./request-rules.ts";

const RULES: RequestRules = {
  isOwnHost: (host) => host === "here:80",
  allowedOrigins: new Set(["https://friend.example"]),
  ownOrigins: new Set(["https://public.example"]),
};

interface Facts {
  readonly hosts?: readonly string[];
  readonly origin?: string;
  readonly isSecure?: boolean;
}

function requestWith({ hosts = ["here:80"], origin, isSecure = false }: Facts): IncomingMessage {
  return {
    headers: {
      ...(hosts[0] === undefined ? {} : { host: hosts[0] }),
      ...(origin === undefined ? {} : { origin }),
    },
    headersDistinct: hosts.length === 0 ? {} : { host: hosts },
    socket: isSecure ? { encrypted: true } : {},
  } as unknown as IncomingMessage;
}

const causeOf = (facts: Facts, { rules = RULES, admitsOwnPages = false } = {}) =>
  refuseRequest(requestWith(facts), rules, admitsOwnPages)?.cause;

describe("the host of a request", () => {
  it("must be one of the server's", () => {
    expect(causeOf({})).toBeUndefined();
    expect(causeOf({ hosts: ["elsewhere:80"] })).toBe("host");
    expect(refuseRequest(requestWith({ hosts: ["elsewhere:80"] }), RULES)?.status).toBe(421);
  });

  it("may not be given twice, even if both are the server's", () => {
    expect(causeOf({ hosts: ["here:80", "here:80"] })).toBe("host");
  });

  it("may be missing, as in HTTP/1.0", () => {
    expect(causeOf({ hosts: [] })).toBeUndefined();
  });

  it("does not matter on a Unix socket, where the origin still does", () => {
    const rules = { ...RULES, isOwnHost: undefined };
    expect(causeOf({ hosts: ["elsewhere:80"] }, { rules })).toBeUndefined();
    expect(causeOf({ hosts: ["a", "b"] }, { rules })).toBeUndefined();
    expect(causeOf({ origin: "https://stranger.example" }, { rules })).toBe("origin");
  });
});

describe("the origin of a request", () => {
  it("must be listed", () => {
    expect(causeOf({ origin: "https://friend.example" })).toBeUndefined();
    expect(causeOf({ origin: "https://friend.example.evil" })).toBe("origin");
    expect(causeOf({ origin: "null" })).toBe("origin");
    expect(causeOf({ origin: "" })).toBe("origin");
    expect(refuseRequest(requestWith({ origin: "null" }), RULES)?.status).toBe(403);
  });

  it("may be the server's own only where its own pages are admitted", () => {
    expect(causeOf({ origin: "http://here:80" })).toBe("origin");
    expect(causeOf({ origin: "http://here:80" }, { admitsOwnPages: true })).toBeUndefined();
    expect(causeOf({ origin: "https://stranger.example" }, { admitsOwnPages: true })).toBe("origin");
  });
});

describe("a page of the server itself", () => {
  const isOwn = (facts: Facts, rules = RULES): boolean => isOwnPage(requestWith(facts), rules);

  it("has the host that was asked for, or a named origin", () => {
    expect(isOwn({ origin: "http://here:80" })).toBe(true);
    expect(isOwn({ origin: "https://here:80" })).toBe(true);
    expect(isOwn({ origin: "https://public.example" })).toBe(true);
    expect(isOwn({ origin: "http://public.example" })).toBe(false);
    expect(isOwn({ origin: "http://here:81" })).toBe(false);
  });

  it("is not one without TLS if the server has TLS", () => {
    expect(isOwn({ origin: "http://here:80", isSecure: true })).toBe(false);
    expect(isOwn({ origin: "https://here:80", isSecure: true })).toBe(true);
  });

  it("has an origin, and a server that has pages", () => {
    expect(isOwn({})).toBe(false);
    expect(isOwn({ origin: "http://here:80" }, { ...RULES, ownOrigins: undefined })).toBe(false);
    expect(isOwn({ hosts: [], origin: "http://undefined" })).toBe(false);
  });
});
