import { drawErr } from "../../shared/standard-streams.ts";
import { printable } from "./printable.ts";
import { fit } from "./width.ts";

const REDRAW_MS = 200;
const CLEAR = "\r\u001b[K";

/** One line at the bottom of a terminal that is redrawn again and again. Call `clear` before writing anything else. */
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

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #draw(): void {
    drawErr(`${CLEAR}${fit(printable(this.#text()), this.#stream.columns - 1)}`);
    this.#isDrawn = true;
  }

  /** Makes room for lines that are written now; it is drawn again below them. */
  clear(): void {
    if (this.#isDrawn) drawErr(CLEAR);
    this.#isDrawn = false;
  }
}

/** Recent growth rate of a count. */
export class Rate {
  readonly #windowMs: number;
  readonly #samples: { readonly at: number; readonly count: number }[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  perSecond(count: number, now = performance.now()): number {
    this.#samples.push({ at: now, count });
    while (this.#samples.length > 2 && now - this.#samples[0]!.at > this.#windowMs) this.#samples.shift();
    const first = this.#samples[0]!;
    return now - first.at < 1 ? 0 : Math.max(0, ((count - first.count) / (now - first.at)) * 1000);
  }
}
