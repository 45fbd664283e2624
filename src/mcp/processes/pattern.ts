import { createContext, Script } from "node:vm";
import { messageOf, UsageError } from "../../base/errors.ts";

/** Some patterns take longer than the universe lasts. V8 can be interrupted while it tries a script's. */
const TIMEOUT_MS = 250;
const CHECK = new Script("RegExp(text); true");
const FIND = new Script("{ const pattern = RegExp(text); lines.findIndex((line) => pattern.test(line)); }");
const FILTER = new Script("{ const pattern = RegExp(text); lines.map((line) => pattern.test(line)); }");

/** A regular expression that somebody else wrote. */
export class Pattern {
  readonly #text: string;

  /** Throws a UsageError about the argument `pattern`. */
  constructor(text: string) {
    this.#text = text;
    try {
      CHECK.runInContext(createContext({ text }), { timeout: TIMEOUT_MS });
    } catch (error) {
      throw new UsageError(`pattern is not a regular expression: ${messageOf(error)}`);
    }
  }

  /** The index of the first line that matches, or -1. Throws a UsageError if finding out takes too long. */
  findIn(lines: readonly string[]): number {
    return this.#run(FIND, lines, TIMEOUT_MS) as number;
  }

  /** Whether each line matches. Throws a UsageError if finding out takes longer. */
  matches(lines: readonly string[], timeoutMs: number): boolean[] {
    return [...(this.#run(FILTER, lines, timeoutMs) as boolean[])];
  }

  #run(script: Script, lines: readonly string[], timeoutMs: number): unknown {
    try {
      return script.runInContext(createContext({ lines, text: this.#text }), { timeout: timeoutMs });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new UsageError(
        "pattern takes too long on this output; choose a simpler one, without nested repetitions",
      );
    }
  }
}
