import type { Precedence } from "../rpc/router.ts";

/** What the order of requests depends on. */
export interface ProcessOrderOptions {
  /** True when the client knows a process by that id which has not ended, and no start with that id is under way. */
  readonly isRunning: (processId: string) => boolean;
}

/**
 * Which requests of one connection may pass those that wait. Requests about one process keep their order among themselves, and one whose process is still to be
 * started waits for that.
 */
export class ProcessOrder {
  readonly #isRunning: (processId: string) => boolean;
  /** How many requests about a process wait. */
  readonly #waiting = new Map<string, number>();
  /** The client wants its input to overtake, too. */
  urgentInput = false;

  constructor({ isRunning }: ProcessOrderOptions) {
    this.#isRunning = isRunning;
  }

  /** True when a request need not wait for others. */
  mayOvertake(precedence: Precedence, params: unknown): boolean {
    const { ordered, overtakes } = precedence;
    if (overtakes === undefined || (overtakes === "urgentInput" && !this.urgentInput)) return false;
    const key = keyOf(precedence, params);
    if (key === undefined || this.#waiting.has(key)) return false;
    return ordered === "v0" || this.#isRunning(processIdOf(precedence, params) ?? "");
  }

  /** A request has to wait; call what is returned when it is its turn. */
  wait(precedence: Precedence, params: unknown): () => void {
    const key = keyOf(precedence, params);
    if (key === undefined) return () => {};
    this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#waiting.get(key) ?? 0) - 1;
      if (left > 0) this.#waiting.set(key, left);
      else this.#waiting.delete(key);
    };
  }
}

/** Undefined for a request about no process. */
function keyOf(precedence: Precedence, params: unknown): string | undefined {
  if (precedence.ordered === "v0") return "v0";
  const processId = processIdOf(precedence, params);
  return processId === undefined ? undefined : `process ${processId}`;
}

function processIdOf({ ordered }: Precedence, params: unknown): string | undefined {
  if (ordered === undefined || typeof params !== "object" || params === null) return undefined;
  const processId: unknown = (params as Readonly<Record<string, unknown>>)[ordered];
  return typeof processId === "string" ? processId : undefined;
}
