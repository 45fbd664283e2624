// Which mutations are tried: found by the fixed operators, drawn by a seed, and known again after lines have moved.
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
 * Draws as many as wanted, the same for the same seed.
 * @template T
 * @param {readonly T[]} all
 * @param {number} count
 * @param {number} seed
 * @returns {T[]}
 */
export function draw(all, count, seed) {
  const random = randomOf(seed);
  const left = [...all];
  const drawn = [];
  while (drawn.length < count && left.length > 0) {
    const at = Math.floor(random() * left.length);
    drawn.push(left[at]);
    left[at] = left.at(-1);
    left.pop();
  }
  return drawn;
}

/** What stays the same when lines move. */
function nameOf({ file, within, operator, from }) {
  return [file, within, operator, from.replaceAll(/\s+/g, " ")].join(" | ");
}

/** Mulberry32. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
