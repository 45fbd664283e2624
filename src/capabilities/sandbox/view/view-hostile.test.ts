import { readdirSync } from "node:fs";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { type FileRule, SandboxRefusal } from "../policy/sandbox-policy.ts";
import { viewOf } from "./view-of.ts";

const RUNS = 1500;

/** Links that cannot be read, files where directories should be, names that are too long, and the like. */
function oddPaths(): string[] {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const inProcesses = ["exe", "cwd", "root", "fd", "fd/0", "fd/1", "ns/mnt", "map_files"];
  return [
    ...processes.slice(0, 50).flatMap((pid) => inProcesses.map((name) => `/proc/${pid}/${name}`)),
    "/proc/self/fd/0/x",
    "/dev/fd/1",
    "/dev/stdin",
    `/${"n".repeat(300)}`,
    `/${"a/".repeat(2100)}x`,
    "/\ud800",
    "/etc/passwd/x",
    "/etc/mtab",
    "/tmp/a\nb",
  ];
}

const pathArbitrary = fc.oneof(
  fc.constantFrom(...oddPaths()),
  fc.string({ maxLength: 20 }).map((text) => `/${text.replaceAll("\0", "")}`),
  fc.constantFrom("/usr", "/bin", "/etc", "/tmp", "/", "/var/tmp"),
);
const patternArbitrary = fc
  .string({
    unit: fc.constantFrom("*", "?", "[", "]", "/", "a", "{", "\\", "!", "^", "-", "."),
    maxLength: 14,
  })
  .map((text) => `/etc/ssl/${text}`);
const ruleArbitrary = fc.oneof(
  fc.record({
    kind: fc.constant("path" as const),
    path: pathArbitrary,
    access: fc.constantFrom("read" as const, "write" as const, "deny" as const),
  }),
  fc.record({
    kind: fc.constant("glob" as const),
    pattern: patternArbitrary,
    access: fc.constant("deny" as const),
  }),
);

/** Anything else that is thrown would be a fault of the server. */
it("whatever the rules name, there is a view or a refusal", () => {
  const rulesArbitrary: fc.Arbitrary<FileRule[]> = fc.array(ruleArbitrary, { maxLength: 5 });
  let views = 0;
  fc.assert(
    fc.property(
      rulesArbitrary,
      fc.boolean(),
      fc.array(pathArbitrary, { maxLength: 2 }),
      (rules, system, hiddenPaths) => {
        try {
          viewOf(
            { files: { rules, systemDirectories: system }, network: "restricted" },
            { files: { hiddenPaths } },
          );
          views += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(SandboxRefusal);
        }
      },
    ),
    { numRuns: RUNS },
  );
  expect(views).toBeGreaterThan(RUNS / 4);
});
