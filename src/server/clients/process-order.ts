import { MAX_ID_CHARACTERS } from "../../protocol/wire-limits.ts";
import type { Precedence } from "../../rpc/router.ts";

/** Stands for all processes of the first dialect, whose requests keep their order among each other. */
const V0 = Symbol("v0");

/** The id of a process. */
type Key = string | typeof V0;

/**
 * Decides which requests of one connection may pass queued ones. Requests about one process keep their order, and a
 * request about a process that is still to be started waits for the start.
 */
export class ProcessOrder {
  readonly #isRunning: (processId: string) => boolean;
  /** Number of queued requests per process. */
  readonly #waiting = new Map<Key | undefined, number>();
  /** The client wants its input to pass queued requests too. */
  urgentInput = false;

  /** `isRunning`: the client knows a running process by that id, and no start with that id is in progress. */
  constructor(isRunning: (processId: string) => boolean) {
    this.#isRunning = isRunning;
  }

  /** True if a request need not wait for others. */
  mayOvertake(precedence: Precedence, params: unknown): boolean {
    const { overtakes } = precedence;
    if (overtakes === undefined || (overtakes === "urgentInput" && !this.urgentInput)) return false;
    const key = orderKey(precedence, params);
    if (key === undefined || this.#waiting.has(key)) return false;
    return key === V0 || this.#isRunning(key);
  }

  /** Registers a queued request. Call the returned function when its turn comes. */
  wait(precedence: Precedence, params: unknown): () => void {
    const key = orderKey(precedence, params);
    this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#waiting.get(key) ?? 0) - 1;
      if (left > 0) this.#waiting.set(key, left);
      else this.#waiting.delete(key);
    };
  }
}

/** Undefined for a request that is not about a process, or is refused for its id. */
function orderKey({ ordered }: Precedence, params: unknown): Key | undefined {
  if (ordered === "v0") return V0;
  if (ordered === undefined || typeof params !== "object" || params === null) return undefined;
  const processId: unknown = (params as Readonly<Record<string, unknown>>)[ordered];
  return typeof processId === "string" && processId.length <= MAX_ID_CHARACTERS ? processId : undefined;
}
