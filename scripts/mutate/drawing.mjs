// Which mutations are tried: found by the fixed operators, drawn by a seed, and known again after lines have moved.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { analyse, counter } from "./operators.mjs";
import { EXCLUDED, TARGETS } from "./targets.mjs";

/** The files that are mutated. */
export function findFiles(root) {
  return TARGETS.flatMap(({ folder }) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((name) => `${folder}/${name}`)
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !EXCLUDED.includes(file))
      .sort(),
  );
}

/**
 * Every mutation of the files whose path contains `part`.
 * @param {string} root
 * @param {string} part
 */
export function findMutants(root, part = "") {
  return findFiles(root)
    .filter((file) => file.includes(part))
    .flatMap((file) => {
      const unique = counter();
      const { mutants } = analyse(file, readFileSync(join(root, file), "utf8"));
      return mutants.map((mutant) => ({ ...mutant, key: unique(nameOf(mutant)) }));
    });
}

/**
 * Draws as many as wanted. Each has its own lot, so that a seed draws the same again after the sources have changed
 * elsewhere.
 * @template {{ key: string }} T
 * @param {readonly T[]} all
 * @param {number} count
 * @param {number} seed
 * @returns {T[]}
 */
export function draw(all, count, seed) {
  const lotOf = ({ key }) => createHash("sha256").update(`${seed} ${key}`).digest("hex");
  return all
    .map((mutant) => ({ mutant, lot: lotOf(mutant) }))
    .sort((one, other) => (one.lot < other.lot ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** What stays the same when lines move. */
function nameOf({ file, within, operator, from }) {
  return [file, within, operator, from.replaceAll(/\s+/g, " ")].join(" | ");
}
