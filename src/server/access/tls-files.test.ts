import { expect, test } from "vitest";
import { isExposed } from "./tls-files.ts";

test("a key that root owns and the server's group reads is not exposed", () => {
  expect(isExposed({ mode: 0o640, uid: 0 }, 995)).toBe(false);
  expect(isExposed({ mode: 0o600, uid: 995 }, 995)).toBe(false);
});

test("a key that everyone, or the group of its own server, can read is exposed", () => {
  expect(isExposed({ mode: 0o644, uid: 0 }, 995)).toBe(true);
  expect(isExposed({ mode: 0o604, uid: 995 }, 995)).toBe(true);
  expect(isExposed({ mode: 0o640, uid: 995 }, 995)).toBe(true);
});
