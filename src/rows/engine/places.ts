/** Several places at which attempts run. Each has slots, and attempts begin where slots are free. */
export interface Places {
  /** Number of places that currently accept attempts. */
  readonly count: number;
  /** Why `take` finds no free slot, for a person. */
  readonly waiting?: string | undefined;
  /** Takes a slot, and says where it is. Undefined if none is free now. Throws if none can be expected any more. */
  take(): string | undefined;
  /** Takes the slot of an attempt that an earlier run began there. */
  occupy(place: string): void;
  /** Gives a slot back. */
  release(place: string): void;
  /** Calls `changed` whenever `take` may have another answer, until the returned function is called. */
  watch(changed: () => void): () => void;
}
