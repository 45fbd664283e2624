import { realpathSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { isDeepStrictEqual } from "node:util";
import type { Choices } from "./choices.ts";

/** Something that reads what others have made. */
export interface Target {
  /** Inputs to begin with. Everything else is made from them. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** What is worth inserting, besides the literals of the sources. */
  readonly words?: readonly (string | Uint8Array)[];
  /** Default: 4 KiB. */
  readonly maxBytes?: number;
  /** Throws if the input shows a fault. */
  run(input: Buffer): void | Promise<void>;
}

/** An empty directory, which is removed after the run. */
export function scratchDirectory(): string {
  return realpathSync((workerData as { readonly directory: string }).directory);
}

/** A promise that the input shows to be broken. */
export class Violation extends Error {}

export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Violation(`${what}\n  expected ${shown(expected)}\n  got      ${shown(actual)}`);
}

export function expectTrue(condition: boolean, what: string): void {
  if (!condition) throw new Violation(what);
}

/** What it returns, or the error if it is of this kind. Other errors are faults. */
export function attempt<T, E extends Error>(
  work: () => T,
  ...kinds: readonly (new (
    ...args: never[]
  ) => E)[]
): { readonly value: T } | { readonly error: E } {
  try {
    return { value: work() };
  } catch (error) {
    if (kinds.some((kind) => error instanceof kind)) return { error: error as E };
    throw error;
  }
}

/** Cuts bytes into the chunks in which they arrive. */
export function chunksOf(bytes: Buffer, choices: Choices): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let cuts = choices.below(6); cuts > 0 && at < bytes.length; cuts -= 1) {
    const length = 1 + choices.below(choices.below(2) === 0 ? 8 : bytes.length);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return at < bytes.length ? [...chunks, bytes.subarray(at)] : chunks;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_key, member: unknown) => {
    if (member === undefined) return "<undefined>";
    if (Object.is(member, -0)) return "<-0>";
    return member instanceof Uint8Array ? Buffer.from(member).toString("latin1") : member;
  });
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
