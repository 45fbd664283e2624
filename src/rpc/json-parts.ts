/** A result that is JSON in pieces, already encoded, because it is too large to be put together. Each piece fits into a frame. */
export class JsonParts {
  readonly parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
  }
}
