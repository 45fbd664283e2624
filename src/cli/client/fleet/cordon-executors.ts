import { ConnectionError } from "../../../base/errors.ts";
import { asFailure } from "../../shared/failure.ts";
import { complain } from "../print/complain.ts";
import { someOf } from "../print/some-of.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { type ChosenExecutor, ExecutorChoice, type ExecutorsOptions } from "./chosen-executors.ts";
import { fleetFailure } from "../target/fleet-failure.ts";

/** Connections that are opened at a time. */
const MAX_AT_ONCE = 32;

/** Takes executors out of the choice. Resolves with the exit status. */
export function cordon(words: readonly string[], options: ExecutorsOptions): Promise<number> {
  return setCordoned(words, true, options);
}

/** Takes executors into the choice again. Resolves with the exit status. */
export function uncordon(words: readonly string[], options: ExecutorsOptions): Promise<number> {
  return setCordoned(words, false, options);
}

async function setCordoned(
  words: readonly string[],
  cordoned: boolean,
  options: ExecutorsOptions,
): Promise<number> {
  const choice = new ExecutorChoice(words, options);
  return await untilInterrupted((signal) =>
    choice.use(signal, async ({ executors, isComplete }) => {
      const done = await cordonAll(executors, cordoned, signal);
      return isComplete && done.length === executors.length ? 0 : 1;
    }),
  );
}

/** Resolves with those for which it worked. Prints why it failed for the others. */
export async function cordonAll(
  executors: readonly ChosenExecutor[],
  cordoned: boolean,
  signal: AbortSignal,
): Promise<ChosenExecutor[]> {
  const done: ChosenExecutor[] = [];
  const waiting = executors.values();
  const work = async (): Promise<void> => {
    for (const executor of waiting) {
      signal.throwIfAborted();
      if (await cordonOne(executor, cordoned)) done.push(executor);
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, executors.length) }, work));
  signal.throwIfAborted();
  if (done.length === 0) return [];
  const names = someOf(done.map(({ name }) => name).sort());
  const get = done.length === 1 ? "gets" : "get";
  complain(cordoned ? `${names} ${get} no new work` : `${names} ${get} new work again`);
  return done;
}

async function cordonOne({ fleet, named, id, name }: ChosenExecutor, cordoned: boolean): Promise<boolean> {
  try {
    await (cordoned ? fleet.cordon(id) : fleet.uncordon(id));
    return true;
  } catch (error) {
    const failure = asFailure(fleetFailure(error, named), 1);
    if (failure === undefined) throw error;
    // Errors of connections name the executor themselves.
    complain(error instanceof ConnectionError ? failure.message : `${name}: ${failure.message}`);
    return false;
  }
}
