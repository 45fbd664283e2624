import { SeededRandom } from "../fault/seeded-random.ts";

const DEFAULT_SEED = 20_261_116;
const seed = process.env["HOSTILE_SEED"];

/** HOSTILE_SEED repeats a failed run; `random` picks a new seed. */
export const hostileSeed =
  seed === "random" ? Math.floor(Math.random() * 2 ** 32) : Number(seed ?? DEFAULT_SEED);

/** The long form repeats the random part of each attack this many times. */
export const hostileRounds = Number(process.env["HOSTILE_ROUNDS"] ?? 1);

/** The random numbers of one attack: its own, so that each can be repeated alone. */
export function randomOf(attack: string): SeededRandom {
  let mixed = hostileSeed;
  for (const character of attack) mixed = Math.imul(mixed ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return new SeededRandom(mixed);
}

/** A size from `low` to `high` at which each order of magnitude is as likely as the next. */
export function logUniform(random: SeededRandom, low: number, high: number): number {
  return Math.round(Math.exp(Math.log(low) + random.next() * (Math.log(high) - Math.log(low))));
}

/** The failure, with the seed that reproduces it. */
export async function withSeed(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new Error(
      `HOSTILE_SEED=${hostileSeed}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
