/** A result as encoded JSON pieces, because it is too large to join. Each piece fits into a frame. */
export class JsonParts {
  readonly parts: readonly Uint8Array[];
  /** Returns the pieces to their owner. Call it once they have been sent, or will never be. */
  readonly release: (() => void) | undefined;

  constructor(parts: readonly Uint8Array[], release?: () => void) {
    this.parts = parts;
    this.release = release;
  }
}
