/** A result that its handler has already serialized, because it knows a cheaper way than `JSON.stringify`. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

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
