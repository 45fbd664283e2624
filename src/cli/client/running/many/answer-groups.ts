import { createHash } from "node:crypto";
import type { Answer } from "./answer.ts";

/** Machines that gave the same answer. */
export interface AnswerGroup {
  readonly names: readonly string[];
  readonly answer: Answer;
}

/** Output of all different answers that is kept. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
/** Bytes kept of each stream of a further one. */
const MAX_SHORT_BYTES = 4 * 1024;

/** Collects answers, and keeps equal ones once. */
export class AnswerGroups {
  readonly #groups = new Map<string, { readonly names: string[]; readonly answer: Answer }>();
  readonly #maxKeptBytes: number;
  #keptBytes = 0;

  constructor(maxKeptBytes = MAX_KEPT_BYTES) {
    this.#maxKeptBytes = maxKeptBytes;
  }

  add(name: string, answer: Answer): void {
    const key = answerKey(answer);
    const known = this.#groups.get(key);
    if (known !== undefined) {
      known.names.push(name);
      return;
    }
    const isFull = this.#keptBytes + answer.stdout.length + answer.stderr.length > this.#maxKeptBytes;
    const kept = isFull ? shortened(answer) : answer;
    this.#keptBytes += kept.stdout.length + kept.stderr.length;
    this.#groups.set(key, { names: [name], answer: kept });
  }

  /** The largest groups first; then in the order of the names. */
  list(): AnswerGroup[] {
    const groups = [...this.#groups.values()].map(({ names, answer }) => ({
      names: names.toSorted(),
      answer,
    }));
    return groups.sort(
      (one, other) => other.names.length - one.names.length || (one.names[0]! < other.names[0]! ? -1 : 1),
    );
  }
}

/** Equal answers have the same. */
function answerKey({ status, stdout, stderr, omittedBytes, error }: Answer): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([status, stdout.length, stderr.length, omittedBytes, error ?? null]));
  return hash.update(stdout).update(stderr).digest("base64");
}

function shortened(answer: Answer): Answer {
  const stdout = answer.stdout.slice(0, MAX_SHORT_BYTES);
  const stderr = answer.stderr.slice(0, MAX_SHORT_BYTES);
  const omitted = answer.stdout.length + answer.stderr.length - stdout.length - stderr.length;
  return { ...answer, stdout, stderr, omittedBytes: answer.omittedBytes + omitted };
}
