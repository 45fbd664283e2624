import * as fc from "fast-check";
import { expect, test } from "vitest";
import { headingId, linkTarget } from "./link-target.ts";

test.each([
  ["https://example.com/a?b#c", { kind: "web", href: "https://example.com/a?b#c" }],
  ["HTTP://EXAMPLE.com", { kind: "web", href: "http://example.com/" }],
  ["other.md", { kind: "file", path: "/docs/other.md" }],
  ["../src/a%20b.ts#L3", { kind: "file", path: "/src/a b.ts" }],
  ["/etc/hosts", { kind: "file", path: "/etc/hosts" }],
  ["#How we Write", { kind: "heading", id: "heading-how-we-write" }],
])("%j leads somewhere", (url, target) => {
  expect(linkTarget(url, "/docs")).toEqual(target);
});

test.each([
  "",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "java\nscript:alert(1)",
  "\u0001javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:http://127.0.0.1/x",
  "mailto:me@example.com",
  "//evil.example/x",
  "\\\\evil.example\\x",
  "/\\evil.example",
  "https://",
  "?query",
  "%zz",
])("%j stays text", (url) => {
  expect(linkTarget(url, "/docs")).toBeUndefined();
});

test("whatever a link says, it leads to http, https, a path or a heading", () => {
  const part = fc.constantFrom(
    "javascript:",
    "data:",
    "//",
    "\\",
    "/",
    "\t",
    " ",
    "a",
    "#",
    "?",
    "%2e%2e/",
    "%00",
    "http:",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const target = linkTarget(parts.join(""), "/docs");
      if (target?.kind === "web") expect(target.href).toMatch(/^https?:\/\//);
      if (target?.kind === "file") expect(target.path).toMatch(/^\//);
      if (target?.kind === "heading") expect(target.id).toMatch(/^heading-/);
    }),
    { numRuns: 3000 },
  );
});

test("headings have the ids that links to them use", () => {
  expect(headingId("What's new: 2.0?")).toBe("heading-whats-new-20");
  expect(headingId("Über uns")).toBe("heading-%C3%BCber-uns");
  expect(headingId("\ud800")).toBe("heading-");
});
