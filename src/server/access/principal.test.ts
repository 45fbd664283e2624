import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { certificatePrincipal, localPrincipal, signedTokenPrincipal as signed } from "./principal.ts";

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = (claims: object, signature = "s"): string =>
  `${encode({ alg: "HS256" })}.${encode(claims)}.${signature}`;

it("fresh tokens of one subject are one principal, and those of others are not", () => {
  const ann = signed(jwt({ iss: "i", sub: "ann", exp: 1 }));
  expect(ann).toBe("subject:i/ann");
  expect(signed(jwt({ sub: "ann", iss: "i", exp: 2 }, "t"))).toBe(ann);
  for (const other of [{ iss: "i", sub: "bob" }, { iss: "j", sub: "ann" }, { sub: "ann" }, { iss: "i" }])
    expect(signed(jwt({ ...other, exp: 1 }))).not.toBe(ann);
});

it("no claims make one principal look like another", () => {
  const claims = [
    { sub: "i/ann" },
    { iss: "i", sub: "ann" },
    { iss: "i/ann", sub: "x" },
    { iss: "i", sub: "ann/x" },
    { iss: "", sub: "i/ann" },
    { sub: "%2F" },
    { sub: "/" },
    { sub: "a".repeat(257) },
    { sub: `sha256=${"a".repeat(43)}` },
    { sub: "\ud800" },
    { sub: "\ud801" },
    { sub: "user:root" },
    { sub: "token" },
  ];
  const principals = claims.map((claim) => signed(jwt(claim)));
  expect(new Set(principals).size).toBe(claims.length);
  for (const principal of principals) expect(principal).toMatch(/^subject:[\x21-\x7e]{1,600}$/);
});

it("a certificate without a subject stands for itself", () => {
  expect(certificatePrincipal({ subject: undefined, fingerprint256: "AB:01" })).toBe("cert:sha256=ab01");
});

it("a token without a subject is a principal of its own", () => {
  const token = jwt({ exp: 1 });
  expect(signed(token)).not.toBe(signed(jwt({ exp: 2 })));
  expect(signed("secret")).not.toBe(signed("Secret"));
  for (const sub of ["", 5, null, ["ann"]])
    expect(signed(jwt({ sub, exp: 1 }))).not.toBe(signed(jwt({ sub, exp: 2 })));
});

it("a principal reveals nothing about its token", () => {
  expect(signed("secret")).not.toContain("secret");
  for (const odd of ["", "a.b.c", ".."]) expect(signed(odd)).toMatch(/^token:[\w-]{43}$/);
});

it("a connection without a token acts for the user that runs the server", () => {
  expect(localPrincipal()).toBe(`user:${userInfo().username}`);
});

it("a certificate stands for its whole subject, and no subject looks like another", () => {
  const of = (subject: string): string => certificatePrincipal({ subject, fingerprint256: "AB:01" });
  expect(of("CN=build")).toBe("cert:CN=build");
  expect(of("O=Example, Inc\nCN=a=b")).toBe("cert:O=Example%2C%20Inc,CN=a%3Db");
  expect(of("")).toBe("cert:sha256=ab01");
  const subjects = [
    "CN=a",
    "O=a",
    "CN=a,O=b",
    "CN=a\nO=b",
    "CN=a\nCN=b",
    "CN=a%2CO",
    `CN=${"x".repeat(300)}`,
  ];
  const principals = subjects.map(of);
  expect(new Set(principals).size).toBe(subjects.length);
  expect(principals.every((principal) => /^[\x21-\x7e]{1,270}$/.test(principal))).toBe(true);
});
