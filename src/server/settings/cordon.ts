/**
 * Whether a server should get no new work. Clients that choose a server see it; the server itself does not refuse
 * anything.
 */
export class Cordon {
  readonly #watchers = new Set<() => void>();
  #isCordoned = false;

  get isCordoned(): boolean {
    return this.#isCordoned;
  }

  set(isCordoned: boolean): void {
    if (isCordoned === this.#isCordoned) return;
    this.#isCordoned = isCordoned;
    for (const changed of this.#watchers) changed();
  }

  /** Calls after each change. Returns what ends that. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }
}
