const BLANKS = [" ", "\n", "\t"];

/**
 * Passes on a model's text as it arrives: in whole words, because the key, which must be hidden, could arrive in parts.
 * If an endpoint sends only whole messages, they are passed on one by one.
 */
export class SpokenText {
  readonly #emit: (text: string) => void;
  /** The beginning of a word. */
  #rest = "";
  #isWithinMessage = false;
  #isLineEnded = true;

  constructor(emit: (text: string) => void) {
    this.#emit = emit;
  }

  add(delta: string): void {
    this.#isWithinMessage = true;
    const end = BLANKS.reduce((last, blank) => Math.max(last, delta.lastIndexOf(blank) + 1), 0);
    if (end > 0) this.#pass(this.#rest + delta.slice(0, end));
    this.#rest = end > 0 ? delta.slice(end) : this.#rest + delta;
  }

  /** `whole`: all of the message, for an endpoint that has not sent its parts. */
  endMessage(whole = ""): void {
    this.#pass(this.#isWithinMessage ? this.#rest : whole);
    if (!this.#isLineEnded) this.#pass("\n");
    this.#rest = "";
    this.#isWithinMessage = false;
  }

  #pass(text: string): void {
    if (text === "") return;
    this.#isLineEnded = text.endsWith("\n");
    this.#emit(text);
  }
}
