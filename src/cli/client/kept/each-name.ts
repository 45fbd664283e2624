import { asFailure } from "../../shared/failure.ts";
import { print } from "../../shared/standard-streams.ts";
import { complain } from "../print/complain.ts";

/**
 * Does the same for all names at once, and prints what `act` resolves with, in their order. A name that fails does not
 * stop the others. Resolves with the exit status.
 */
export async function eachName(
  names: readonly string[],
  act: (name: string) => Promise<string>,
): Promise<number> {
  const results = await Promise.allSettled(names.map(act));
  let status = 0;
  for (const result of results) {
    if (result.status === "fulfilled") {
      await print(`${result.value}\n`);
      continue;
    }
    const failure = asFailure(result.reason, 1);
    if (failure === undefined) throw result.reason;
    complain(failure.message);
    status = Math.max(status, failure.exitCode ?? 1);
  }
  return status;
}
