import type { ObservedConnection, ObservedRequest } from "../observer.ts";

interface PendingStart {
  readonly request: ObservedRequest;
  readonly facts: () => object;
}

/** Stands for the id of a process whose client did not choose one. */
const NO_ID = "\0";

/** Starts that were requested, until their process runs or they fail. */
export class PendingStarts {
  readonly #byProcess = new Map<string, PendingStart>();
  /** Of starts that have no answer yet. Each gets one, and a weak map would cost more than all else here. */
  readonly #keys = new Map<ObservedRequest, string>();

  add(request: ObservedRequest, processId: string | undefined, facts: () => object): void {
    const key = keyOf(request.connection, processId);
    this.#keys.set(request, key);
    // An id that is in use belongs to the first: the second fails, or repeats it.
    if (!this.#byProcess.has(key)) this.#byProcess.set(key, { request, facts });
  }

  /** Facts of the request that has started this process. */
  started(connection: ObservedConnection, processId: string): object | undefined {
    const key = keyOf(connection, processId);
    const found = this.#byProcess.has(key) ? key : keyOf(connection, undefined);
    const start = this.#byProcess.get(found);
    this.#byProcess.delete(found);
    return start?.facts();
  }

  /** Is called with the answer to a request. Returns the facts of one that has started nothing. */
  take(request: ObservedRequest): object | undefined {
    const key = this.#keys.get(request);
    this.#keys.delete(request);
    const start = key === undefined ? undefined : this.#byProcess.get(key);
    if (key === undefined || start?.request !== request) return undefined;
    this.#byProcess.delete(key);
    return start.facts();
  }
}

function keyOf({ number }: ObservedConnection, processId = NO_ID): string {
  return `${number} ${processId}`;
}
