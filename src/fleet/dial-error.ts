import { ConnectionError } from "../base/errors.ts";

type Details = ConstructorParameters<typeof ConnectionError>[1];

/** An executor of a fleet could not be reached, or refused. Users of the library see a ConnectionError. */
export class DialError extends ConnectionError {
  override readonly name = "ConnectionError";
  readonly #why: string;
  readonly #details: Details;

  constructor(why: string, details?: Details, id?: string) {
    super(id === undefined ? why : `failed to connect to executor ${id}: ${why}`, details);
    this.#why = why;
    this.#details = details;
  }

  /** For lists that name the executor themselves. */
  unnamed(): DialError {
    return new DialError(this.#why, this.#details);
  }
}
