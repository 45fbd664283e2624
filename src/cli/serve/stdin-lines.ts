import { createDeferred } from "../../base/deferred.ts";

const NEWLINE = 10;

/** Lines that the parent writes to stdin. Reads only as much as is requested. */
export class StdinLines {
  readonly #ended = createDeferred<void>();
  #received: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #wake: (() => void) | undefined;

  constructor(stdin: NodeJS.ReadableStream = process.stdin) {
    stdin.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      // Unrequested data stays in the pipe.
      if (this.#wake === undefined) stdin.pause();
      this.#wake?.();
    });
    const end = (): void => {
      this.#hasEnded = true;
      this.#ended.resolve();
      this.#wake?.();
    };
    for (const event of ["end", "close", "error"]) stdin.on(event, end);
    this.#resume = () => stdin.resume();
  }

  readonly #resume: () => void;

  /** Resolves when stdin has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Whether there is no unrequested data. */
  get isEmpty(): boolean {
    return this.#received.length === 0;
  }

  /** The next line without its newline; undefined if stdin ends before, or if it is longer than `maxBytes` with it. */
  async next(maxBytes: number): Promise<string | undefined> {
    for (;;) {
      const end = this.#received.subarray(0, maxBytes).indexOf(NEWLINE);
      if (end >= 0) {
        const line = this.#received.toString("utf8", 0, end);
        this.#received = this.#received.subarray(end + 1);
        return line;
      }
      if (this.#received.length >= maxBytes || this.#hasEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#resume();
      });
      this.#wake = undefined;
    }
  }

  /** Reads on, so that the end is noticed. */
  ignoreRest(): void {
    this.#wake = () => {
      this.#received = Buffer.alloc(0);
    };
    this.#resume();
  }
}
