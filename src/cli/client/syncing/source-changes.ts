import { after } from "../../../base/duration.ts";

/** Changes come in bursts. A burst is over after a moment without one, but is not waited for longer than this. */
const QUIET_MS = 100;
const MAX_WAIT_MS = 500;
/** Beyond this, everything is looked at. */
const MAX_PATHS = 10_000;

/** What has changed since the last time: paths below the directory, or everything. */
export type Changed = readonly string[] | "everything";

/** Collects changes in the source until they are taken. */
export class SourceChanges {
  readonly #paths = new Set<string>();
  #isEverything = false;
  #end: { readonly error: unknown } | undefined;
  #wake = (): void => {};

  note(paths: readonly string[]): void {
    for (const path of paths)
      if (this.#paths.size < MAX_PATHS) this.#paths.add(path);
      else this.#isEverything = true;
    this.#wake();
  }

  /** Changes may have been missed. */
  noteEverything(): void {
    this.#isEverything = true;
    this.#wake();
  }

  /** Ends the collection; the next `take` rejects with the error. */
  end(error: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Waits for changes, and for the end of their burst. Undefined if the signal is aborted before there is one. */
  async take(signal: AbortSignal): Promise<Changed | undefined> {
    while (!this.#isAny && !signal.aborted) await this.#woken(signal);
    if (signal.aborted) return undefined;
    if (this.#end !== undefined) throw this.#end.error;
    const latest = performance.now() + MAX_WAIT_MS;
    for (let isQuiet = false; !isQuiet && performance.now() < latest && !signal.aborted; )
      isQuiet = !(await this.#woken(signal, QUIET_MS));
    const changed = this.#isEverything ? "everything" : [...this.#paths];
    this.#paths.clear();
    this.#isEverything = false;
    return changed;
  }

  get #isAny(): boolean {
    return this.#isEverything || this.#paths.size > 0 || this.#end !== undefined;
  }

  /** False if the time was up. */
  #woken(signal: AbortSignal, waitMs = Infinity): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isWoken: boolean): void => {
        cancel();
        signal.removeEventListener("abort", wake);
        resolve(isWoken);
      };
      const wake = (): void => settle(true);
      const cancel = after(waitMs, () => settle(false));
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
