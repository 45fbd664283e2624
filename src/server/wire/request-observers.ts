import { methods } from "../../protocol/index.ts";
import { combineObservers, type RequestHooks, type ServerObserver } from "../settings/observer.ts";

type Timed = NonNullable<RequestHooks["timed"]>;

/** The observers of one method's requests. */
export interface MethodObservers {
  /** For hooks that get the request itself. */
  readonly hooks: RequestHooks | undefined;
  readonly timed: Timed | undefined;
}

const NOBODY: MethodObservers = { hooks: undefined, timed: undefined };

/** The observers of each method's requests. Looked up once for all, because most requests take a few microseconds. */
export class RequestObservers {
  readonly clock = new TurnClock();
  readonly #byMethod = new Map<string, MethodObservers>();
  readonly #others: MethodObservers;

  constructor(observers: readonly ServerObserver[]) {
    for (const method of Object.keys(methods)) this.#byMethod.set(method, observersOf(observers, method));
    this.#others = observersOf(observers, "");
  }

  of(method: string): MethodObservers {
    return this.#byMethod.get(method) ?? this.#others;
  }
}

function observersOf(observers: readonly ServerObserver[], method: string): MethodObservers {
  const all = observers.flatMap((observer): RequestHooks[] =>
    observer.hooksFor === undefined ? [observer] : [observer.hooksFor(method) ?? {}],
  );
  const hooks = combineObservers(all.filter(hasHooks));
  const timed = all.flatMap((one) => (one.timed === undefined ? [] : [one.timed.bind(one)]));
  return hooks === undefined && timed.length === 0 ? NOBODY : { hooks, timed: oneOf(timed) };
}

function hasHooks({ veto, requested, answered }: RequestHooks): boolean {
  return veto !== undefined || requested !== undefined || answered !== undefined;
}

function oneOf(calls: readonly Timed[]): Timed | undefined {
  if (calls.length < 2) return calls[0];
  return (startedAtMs, error) => {
    for (const call of calls) call(startedAtMs, error);
  };
}

const SETTLED = Promise.resolve();

/** A clock that is read once in each turn of the event loop: reading it takes as long as a part of a small request. */
class TurnClock {
  #nowMs = 0;
  #isRead = false;

  /** Value of `performance.now()`. */
  now(): number {
    if (!this.#isRead) {
      this.#isRead = true;
      this.#nowMs = performance.now();
      void SETTLED.then(this.#expire);
    }
    return this.#nowMs;
  }

  readonly #expire = (): void => {
    this.#isRead = false;
  };
}
