import type { ObservedConnection, ObservedRequest } from "../settings/observer.ts";
import { cut } from "./redact.ts";
import type { Rule } from "./rules.ts";

export type StartRule<P = unknown> = Extract<Rule<P>, { kind: "start" }>;

export interface PendingStart {
  readonly request: ObservedRequest;
  readonly rule: StartRule;
  readonly params: unknown;
}

/** Stands for the id of a process whose client did not choose one. */
const NO_ID = "\0";

/** Starts that were requested, until their process runs or they fail. */
export class PendingStarts {
  readonly #byProcess = new Map<string, PendingStart>();
  /** Of starts that have no answer yet. Each gets one, and a weak map would cost more than all else here. */
  readonly #keys = new Map<ObservedRequest, string>();

  add(request: ObservedRequest, rule: StartRule, params: unknown): void {
    const key = startKey(request.connection, rule.process?.(params));
    this.#keys.set(request, key);
    // An id that is in use belongs to the first: the second fails, or repeats it.
    if (!this.#byProcess.has(key)) this.#byProcess.set(key, { request, rule, params });
  }

  /** The request that has started this process. */
  started(connection: ObservedConnection, processId: string): PendingStart | undefined {
    const key = startKey(connection, processId);
    const found = this.#byProcess.has(key) ? key : startKey(connection, undefined);
    const start = this.#byProcess.get(found);
    if (start !== undefined) this.#byProcess.delete(found);
    return start;
  }

  /** Is called with the answer to a request. Returns the facts of one that has started nothing. */
  take(request: ObservedRequest): object | undefined {
    const key = this.#keys.get(request);
    if (key === undefined) return undefined;
    this.#keys.delete(request);
    const start = this.#byProcess.get(key);
    if (start?.request !== request) return undefined;
    this.#byProcess.delete(key);
    return startFacts(start.rule, start.params);
  }
}

/** What a start is about, whether anything was started or not. */
export function startFacts({ process, facts }: StartRule, params: unknown): object {
  return process === undefined ? facts(params) : { process: cut(process(params)), ...facts(params) };
}

function startKey({ number }: ObservedConnection, processId = NO_ID): string {
  return `${number} ${processId}`;
}
