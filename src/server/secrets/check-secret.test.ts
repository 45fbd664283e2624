import { describe, expect, it } from "vitest";
import { inheritable } from "./inheritable.ts";
import { secretFault } from "./check-secret.ts";

const good = { name: "A_KEY", hosts: ["api.example.com"], from: "env" } as const;

describe("the options of a secret", () => {
  it.each([
    [{}],
    [{ variable: "OTHER" }],
    [{ name: "a.b-c", as: "A_KEY" }],
    [{ from: "file", path: "/etc/key" }],
    [{ from: "command", command: ["/bin/cat", "x"] }],
    [{ header: "X-Key", prefix: "Key " }],
    [{ hosts: ["*.example.com", "https://a.test:8443/v1", "http://localhost:1"], local: true }],
  ])("may be %j", (options) => {
    expect(secretFault({ ...good, ...options })).toBeUndefined();
  });

  it.each([
    ["name", { name: "" }],
    ["name", { name: "a b" }],
    ["as", { name: "a.b" }],
    ["as", { as: "a-b" }],
    ["hosts", { hosts: undefined }],
    ["hosts", { hosts: [] }],
    ["hosts", { hosts: "api.example.com" }],
    ["hosts", { hosts: ["http://example.com"] }],
    ["hosts", { hosts: ["*"] }],
    ["hosts", { hosts: Array.from({ length: 33 }, () => "a.test") }],
    ["from", { from: "vault" }],
    ["variable", { from: "file", path: "/x", variable: "X" }],
    ["path", { from: "file" }],
    ["path", { from: "file", path: "key" }],
    ["path", { path: "/x" }],
    ["command", { from: "command" }],
    ["command", { from: "command", command: [] }],
    ["command", { from: "command", command: ["cat"] }],
    ["command", { from: "command", command: ["/bin/cat", 1] }],
    ["header", { header: "a b" }],
    ["prefix", { prefix: "x" }],
    ["prefix", { header: "X", prefix: "a\r\nb" }],
    ["local", { local: 1 }],
  ])("have a fault in %s: %j", (key, options) => {
    expect(secretFault({ ...good, ...options })?.key).toBe(key);
  });
});

describe("what processes inherit", () => {
  it("has no variable that contains a secret from the environment", () => {
    const environment = { A_KEY: "k-secret", COPY: "x k-secret", OTHER: "y", EMPTY: "" };
    expect(inheritable(environment, [good])).toEqual({ OTHER: "y", EMPTY: "" });
    expect(inheritable(environment, [{ ...good, variable: "EMPTY" }])).toEqual(environment);
    expect(inheritable(environment, [{ ...good, from: "file", path: "/x" }])).toEqual(environment);
  });
});
