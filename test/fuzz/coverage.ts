/** Counts how often each branch of the sources was taken. `scripts/fuzz/bundle.mjs` puts the counting into them. */
const counts = (globalThis as unknown as { readonly __branches: Uint8Array }).__branches;
const words = new Uint32Array(counts.buffer);

/** Branches, and how often about: 1, 2, 3, 4, 8, 16, 32, 128 times. */
export class Coverage {
  readonly #seen = new Uint8Array(counts.length);
  #branches = 0;

  get branches(): number {
    return this.#branches;
  }

  /** Forgets what ran so far. */
  begin(): void {
    words.fill(0);
  }

  /** Whether something ran since `begin` that had not run before, or not as often. */
  isNew(): boolean {
    let isNew = false;
    for (let word = 0; word < words.length; word += 1) {
      if (words[word] === 0) continue;
      for (let at = word * 4; at < word * 4 + 4; at += 1) {
        const bucket = bucketOf(counts[at]!);
        const seen = this.#seen[at]!;
        if ((bucket & ~seen) === 0) continue;
        if (seen === 0) this.#branches += 1;
        this.#seen[at] = seen | bucket;
        isNew = true;
      }
    }
    return isNew;
  }
}

function bucketOf(count: number): number {
  if (count <= 3) return count === 0 ? 0 : 1 << (count - 1);
  if (count < 8) return 8;
  if (count < 16) return 16;
  if (count < 32) return 32;
  return count < 128 ? 64 : 128;
}
