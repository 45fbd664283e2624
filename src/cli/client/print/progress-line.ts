import { drawErr } from "../../shared/standard-streams.ts";
import { printable } from "./printable.ts";
import { fit } from "./width.ts";

const REDRAW_MS = 200;
const CLEAR = "\r\u001b[K";

/** One line at the bottom of a terminal that is drawn again and again. Anything else is written through `above`. */
export class ProgressLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #text: () => string;
  readonly #timer: NodeJS.Timeout;
  #isDrawn = false;

  /** Undefined if stderr is not a terminal. */
  static onStderr(text: () => string): ProgressLine | undefined {
    return process.stderr.isTTY ? new ProgressLine(process.stderr, text) : undefined;
  }

  private constructor(stream: NodeJS.WriteStream, text: () => string) {
    this.#stream = stream;
    this.#text = text;
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
    this.#timer.unref();
  }

  /** Runs something that writes lines to the terminal. */
  above(write: () => void): void {
    this.#clear();
    write();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #draw(): void {
    drawErr(`${CLEAR}${fit(printable(this.#text()), this.#stream.columns - 1)}`);
    this.#isDrawn = true;
  }

  #clear(): void {
    if (this.#isDrawn) drawErr(CLEAR);
    this.#isDrawn = false;
  }
}
