import type { TerminalSize } from "../../native/spawn.ts";

/** One attachment to a kept process. */
export class Watcher {
  /** The connection; one may have several attachments. */
  readonly connection: object;
  /** Size of its window, as far as known. */
  size: TerminalSize | undefined;
  /** Increases with every size that any watcher reports. */
  sizeOrder = 0;

  constructor(connection: object) {
    this.connection = connection;
  }
}

/**
 * Clients attached to a kept process. They share its window: the size of the client that typed last applies; if none
 * has typed, or that one has left, the newest size of those still attached.
 */
export class Audience {
  readonly #resize: (size: TerminalSize) => void;
  readonly #present = new Set<Watcher>();
  #lastTyped: Watcher | undefined;
  #sizes = 0;
  #size: TerminalSize | undefined;

  /** `resize` is called when another size counts. */
  constructor(resize: (size: TerminalSize) => void) {
    this.#resize = resize;
  }

  /** Number of connections that are attached. */
  get connections(): number {
    return new Set(Array.from(this.#present, ({ connection }) => connection)).size;
  }

  /** Adds a watcher, or one that has left and returns. */
  join(watcher: Watcher): void {
    this.#present.add(watcher);
    this.#update();
  }

  leave(watcher: Watcher): void {
    if (this.#present.delete(watcher)) this.#update();
  }

  typed(watcher: Watcher): void {
    if (this.#lastTyped === watcher) return;
    this.#lastTyped = watcher;
    this.#update();
  }

  resized(watcher: Watcher, size: TerminalSize): void {
    this.#sizes += 1;
    watcher.size = size;
    watcher.sizeOrder = this.#sizes;
    this.#update();
  }

  #update(): void {
    const size = this.#sizeThatCounts();
    if (size === undefined || (size.rows === this.#size?.rows && size.columns === this.#size.columns)) return;
    this.#size = size;
    this.#resize(size);
  }

  #sizeThatCounts(): TerminalSize | undefined {
    if (this.#lastTyped !== undefined && this.#present.has(this.#lastTyped)) {
      const { size } = this.#lastTyped;
      if (size !== undefined) return size;
    }
    let newest: Watcher | undefined;
    for (const watcher of this.#present)
      if (watcher.size !== undefined && watcher.sizeOrder > (newest?.sizeOrder ?? 0)) newest = watcher;
    return newest?.size;
  }
}
