// The unit tests that reach a file by imports, the nearest first.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Tests further away, in other folders, look at something else. */
const MAX_DISTANCE = 2;
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
    const distances = new Map([[file, 0]]);
    for (const [next, distance] of distances)
      for (const importer of importers.get(next) ?? [])
        if (!distances.has(importer)) distances.set(importer, distance + 1);
    const isNear = ([path, distance]) => distance <= MAX_DISTANCE || path.startsWith(`${dirname(file)}/`);
    const tests = [...distances].filter(([path]) => path.endsWith(".test.ts"));
    return tests
      .filter(isNear)
      .slice(0, MAX_TESTS)
      .map(([path]) => path);
  };
}
