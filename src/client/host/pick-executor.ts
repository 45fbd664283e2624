import { ExecError } from "../../base/errors.ts";
import { type Executor, hasLabels } from "./executor.ts";

/** Executors that a message names. */
const MAX_SHOWN = 3;

/** Which executor to pick. */
export interface PickOptions {
  /** All of these labels it must have. */
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * The executor with the most free slots, then with the least load, among those that are ready and have the labels.
 * `picksOf` counts the picks of an executor that it does not know of yet. Throws an ExecError with NOT_FOUND.
 */
export function pickExecutor(
  executors: readonly Executor[],
  { labels = {} }: PickOptions,
  picksOf: (id: string) => number,
): Executor {
  const matching = executors.filter((executor) => hasLabels(executor, labels));
  const [first, ...others] = matching.filter(({ state }) => state === "ready");
  if (first === undefined) throw new ExecError("NOT_FOUND", noneReason(executors, matching, labels));
  const room = ({ id, free }: Executor): number => free - picksOf(id);
  return others.reduce(
    (best, next) =>
      room(next) > room(best) || (room(next) === room(best) && next.load < best.load) ? next : best,
    first,
  );
}

function noneReason(
  all: readonly Executor[],
  matching: readonly Executor[],
  labels: Readonly<Record<string, string>>,
): string {
  if (all.length === 0) return "no executor is connected to the fleet";
  const wanted = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const named = wanted.join(", ");
  if (matching.length === 0)
    return `none of the ${all.length} executors of the fleet has the label${wanted.length > 1 ? "s" : ""} ${named}`;
  const having = wanted.length === 0 ? "" : ` with ${named}`;
  const states = matching.map(({ id, state }) => `${id} is ${state}`);
  const more = states.length > MAX_SHOWN ? ", …" : "";
  return `no executor${having} is ready: ${states.slice(0, MAX_SHOWN).join(", ")}${more}`;
}
