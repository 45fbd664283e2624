import { describe, expect, it } from "vitest";
import { selectSubprotocol, subprotocolAuthorization, tokenSubprotocols } from "./subprotocol-token.ts";

describe("a token as a subprotocol", () => {
  it.each(["token", "a", "ab", "abc", "~?>/+=", "x".repeat(5000)])("comes back as it was: %.20s", (token) => {
    const offered = tokenSubprotocols(token);
    expect(offered.every((name) => /^[A-Za-z0-9._-]+$/.test(name))).toBe(true);
    expect(subprotocolAuthorization(offered.join(", "))).toBe(`Bearer ${token}`);
    expect(selectSubprotocol(new Set(offered))).toBe("exec-server");
  });

  it("is not there if none is offered, and then nothing is selected", () => {
    for (const offered of [undefined, "", "exec-server", "graphql-ws, exec-server", "exec-server.bearer"])
      expect(subprotocolAuthorization(offered)).toBeUndefined();
    expect(selectSubprotocol(new Set(["exec-server", "other"]))).toBe(false);
  });

  it("is never the subprotocol that is selected", () => {
    expect(selectSubprotocol(new Set(tokenSubprotocols("t").slice(1)))).toBe(false);
  });

  it.each([
    "exec-server.bearer.",
    "exec-server.bearer.dG9r=",
    "exec-server.bearer.dG9r+w",
    "exec-server.bearer.a",
    `exec-server.bearer.${btoa("two words")}`,
    `exec-server.bearer.${btoa("line\r\nX-Evil: 1").replaceAll("=", "")}`,
    "exec-server.bearer._w",
    "exec-server.bearer.dG9r, exec-server.bearer.dG9r",
    `exec-server.bearer.${"!".repeat(10_000)}`,
  ])("%.60s is no token, which is not the same as none", (offered) => {
    expect(subprotocolAuthorization(offered)).toBe("");
  });
});
