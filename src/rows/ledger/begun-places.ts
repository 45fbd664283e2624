/** The machines of a job: where each running attempt was begun, and all that were used. */
export class BegunPlaces {
  /** Only of attempts that run: as many as run at once. */
  readonly #byRow = new Map<number, string>();
  readonly #all = new Set<string>();

  /** Every machine on which an attempt was begun. */
  get all(): ReadonlySet<string> {
    return this.#all;
  }

  get(index: number): string | undefined {
    return this.#byRow.get(index);
  }

  begin(index: number, place: string | undefined): void {
    if (place === undefined) {
      this.#byRow.delete(index);
      return;
    }
    this.#byRow.set(index, place);
    this.#all.add(place);
  }

  end(index: number): void {
    this.#byRow.delete(index);
  }
}
