import { methods } from "../../protocol/index.ts";
import { combineObservers, type RequestHooks, type ServerObserver } from "../observer.ts";
import { TurnClock } from "./turn-clock.ts";

/** Who is told of the requests of each method. Looked up once for all, because most requests take a few microseconds. */
export class RequestObservers {
  readonly clock = new TurnClock();
  /** Null for a method that nobody wants to know of. */
  readonly #byMethod = new Map<string, RequestHooks | null>();
  readonly #others: RequestHooks | null;

  constructor(observers: readonly ServerObserver[]) {
    for (const method of Object.keys(methods)) this.#byMethod.set(method, hooksOf(observers, method));
    this.#others = hooksOf(observers, "");
  }

  of(method: string): RequestHooks | null {
    const hooks = this.#byMethod.get(method);
    return hooks === undefined ? this.#others : hooks;
  }
}

function hooksOf(observers: readonly ServerObserver[], method: string): RequestHooks | null {
  const all = observers
    .map((observer) => (observer.hooksFor === undefined ? observer : observer.hooksFor(method)))
    .filter(
      (hooks) => hooks?.veto !== undefined || hooks?.requested !== undefined || hooks?.answered !== undefined,
    );
  return combineObservers(all as RequestHooks[]) ?? null;
}
