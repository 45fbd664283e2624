import { randomInt } from "node:crypto";

/** Shorter values occur in other texts by chance, so they can be neither found nor told apart. */
const MIN_SECRET_LENGTH = 16;
const MAX_SECRET_LENGTH = 4_096;
/** Characters that differ from the secret's. */
const MIN_RANDOM = 12;

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";

/** Whether a value can be replaced: it goes into headers, and has to be found again. */
export function isReplaceable(secret: string): boolean {
  return (
    secret.length >= MIN_SECRET_LENGTH &&
    secret.length <= MAX_SECRET_LENGTH &&
    /^[\x21-\x7e]+$/.test(secret) &&
    (secret.match(/[a-z0-9]/gi)?.length ?? 0) >= MIN_RANDOM
  );
}

/**
 * A random text that looks like the secret: as long, with the same public beginning, and a letter where it has one, so
 * that programs which check the form of their keys accept it. It says nothing else about it.
 */
export function standInFor(secret: string, prefix: string): string {
  const kept = secret.startsWith(prefix) && isReplaceable(secret.slice(prefix.length)) ? prefix : "";
  const rest = secret.slice(kept.length);
  const isHex = /^[0-9a-f]+$/i.test(rest);
  const letters = isHex ? 6 : 26;
  const random = (from: string, count: number): string => from[randomInt(count)]!;
  const replaced = rest.replaceAll(/[a-z0-9]/gi, (character) => {
    if (character <= "9") return random(DIGITS, 10);
    return character <= "Z" ? random(UPPER, letters) : random(LOWER, letters);
  });
  return kept + replaced;
}

/** A stand-in with the length of another value of the same secret. */
export function resized(standIn: string, length: number): string {
  return standIn.length === length
    ? standIn
    : standIn.repeat(Math.ceil(length / standIn.length)).slice(0, length);
}
