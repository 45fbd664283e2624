// The unit tests that reach a file by imports, the nearest first.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Tests further away look at something else. */
const MAX_TESTS = 12;
const IMPORT = /(?:^(?:import|export)\s(?!type\b)[^;]*?\bfrom\s+|^import\s+|\bimport\()"(\.[^"]+)"/gm;

/**
 * @param {string} root
 * @returns {(file: string) => string[]}
 */
export function nearestTests(root) {
  /** @type {Map<string, string[]>} */
  const importers = new Map();
  for (const folder of ["src", "test/pins", "test/fixtures"])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts")) continue;
      const importer = `${folder}/${name}`;
      for (const [, specifier] of readFileSync(join(root, importer), "utf8").matchAll(IMPORT)) {
        const imported = join(dirname(importer), specifier);
        importers.set(imported, [...(importers.get(imported) ?? []), importer]);
      }
    }
  return (file) => {
    const seen = new Set([file]);
    const tests = [];
    for (const next of seen) {
      if (next.endsWith(".test.ts")) tests.push(next);
      for (const importer of importers.get(next) ?? []) seen.add(importer);
    }
    return tests.slice(0, MAX_TESTS);
  };
}
