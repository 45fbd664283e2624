import { expect, test } from "vitest";
import { baseName } from "./run-detached.ts";

test.each([
  ["make", "make"],
  ["/usr/bin/python3.11", "python3.11"],
  ["./.hidden", "hidden"],
  ["/opt/my app/", "myapp"],
  ["--", "process"],
  ["é", "process"],
  ["x".repeat(500), "x".repeat(100)],
])("%s is called %s", (program, name) => expect(baseName(program)).toBe(name));
