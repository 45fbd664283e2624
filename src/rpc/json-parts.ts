/** A result that is JSON in pieces, already encoded, because it is too large to be put together. Each piece fits into a frame. */
export class JsonParts {
  readonly parts: readonly Uint8Array[];
  /** Gives the pieces back to their owner; to be called when they have been sent, or will never be. */
  readonly release: (() => void) | undefined;

  constructor(parts: readonly Uint8Array[], release?: () => void) {
    this.parts = parts;
    this.release = release;
  }
}
