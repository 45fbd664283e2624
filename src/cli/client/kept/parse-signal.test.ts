import { expect, test } from "vitest";
import { parseSignal } from "./parse-signal.ts";

test.each(["TERM", "SIGTERM", "term", "15"])("%s is SIGTERM", (text) =>
  expect(parseSignal(text)).toBe("SIGTERM"),
);

test.each(["", "SIG", "0", "99", "SEGV", "TERM ", "__proto__"])("'%s' is no signal to send", (text) =>
  expect(() => parseSignal(text)).toThrow("Expected one of TERM, KILL"),
);
