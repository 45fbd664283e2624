import { expect, it } from "vitest";
import { identityOf } from "./authentication.ts";

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = (claims: object, signature = "s"): string =>
  `Bearer ${encode({ alg: "HS256" })}.${encode(claims)}.${signature}`;

it("fresh tokens of one subject are one identity, and those of others are not", () => {
  const ann = identityOf(jwt({ iss: "i", sub: "ann", exp: 1 }));
  expect(identityOf(jwt({ sub: "ann", iss: "i", exp: 2 }, "t"))).toBe(ann);
  for (const other of [{ iss: "i", sub: "bob" }, { iss: "j", sub: "ann" }, { sub: "ann" }, { iss: "i" }])
    expect(identityOf(jwt({ ...other, exp: 1 }))).not.toBe(ann);
});

it("a token without a subject is an identity of its own", () => {
  const token = jwt({ exp: 1 });
  expect(identityOf(token)).toBe(identityOf(token.replace("Bearer", "bearer")));
  expect(identityOf(token)).not.toBe(identityOf(jwt({ exp: 2 })));
  expect(identityOf("Bearer secret")).not.toBe(identityOf("Bearer Secret"));
  for (const sub of ["", 5, null, ["ann"]])
    expect(identityOf(jwt({ sub, exp: 1 }))).not.toBe(identityOf(jwt({ sub, exp: 2 })));
});

it("an identity tells nothing of its token", () => {
  expect(identityOf("Bearer secret")).not.toContain("secret");
  for (const odd of [undefined, "", "Bearer", "Bearer a.b.c", "Bearer .."])
    expect(identityOf(odd)).toHaveLength(44);
});
