import type { ReadStream } from "node:tty";

/** Size of a window. */
export interface WindowSize {
  readonly cols: number;
  readonly rows: number;
}

/** Signals that end this program, and must find the terminal as it was. */
const ENDING = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const;
export type EndingSignal = (typeof ENDING)[number] | "SIGPIPE";

/** Time that a signal may take to stop this program. */
const STOP_MS = 100;

/** This program's terminal: its keys, screen and size. Stdin or stdout may be something else. */
export class LocalTerminal {
  readonly #restore = (): void => this.cooked();
  #isRaw = false;

  /** True if a person types here. */
  get hasKeys(): boolean {
    return process.stdin.isTTY;
  }

  get hasScreen(): boolean {
    return process.stdout.isTTY;
  }

  /** True if text can be written anywhere on the screen. */
  get isAddressable(): boolean {
    return this.size !== undefined && process.env["TERM"] !== "dumb";
  }

  /** Undefined without a screen, or if it does not know its size. */
  get size(): WindowSize | undefined {
    const { columns: cols, rows } = process.stdout;
    return this.hasScreen && cols > 0 && rows > 0 ? { cols, rows } : undefined;
  }

  /** Passes every key on as it is, until `cooked` is called or the program ends, however it ends. */
  raw(): void {
    if (!this.hasKeys || this.#isRaw) return;
    this.#isRaw = true;
    (process.stdin as ReadStream).setRawMode(true);
    process.on("exit", this.#restore);
  }

  cooked(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    process.off("exit", this.#restore);
    (process.stdin as ReadStream).setRawMode(false);
  }

  /** Calls `listener` on every change of the size, until the returned function is called. */
  onResize(listener: () => void): () => void {
    process.stdout.on("resize", listener);
    return () => process.stdout.off("resize", listener);
  }

  /** Calls `listener` on signals that would end this program, until the returned function is called. */
  onEndingSignal(listener: (signal: EndingSignal) => void): () => void {
    for (const signal of ENDING) process.on(signal, listener);
    return () => {
      for (const signal of ENDING) process.off(signal, listener);
    };
  }

  /** Stops this program, as Ctrl-Z does. */
  suspend(): void {
    const wasRaw = this.#isRaw;
    this.cooked();
    process.kill(0, "SIGTSTP");
    // Nothing stops without a shell that could continue it.
    if (wasRaw) setTimeout(() => this.raw(), STOP_MS);
  }

  /** Calls `listener` when this program continues after being stopped, until the returned function is called. */
  onContinue(listener: () => void): () => void {
    const renew = (): void => {
      // Shells set the modes that they like.
      if (this.#isRaw) this.cooked();
      this.raw();
      listener();
    };
    process.on("SIGCONT", renew);
    return () => process.off("SIGCONT", renew);
  }
}
