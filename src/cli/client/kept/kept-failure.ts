import { ExecError } from "../../../base/errors.ts";
import { Failure } from "../failure.ts";

/** A name that is not known gets a remedy; any other error is returned as it is. */
export function keptFailure(error: unknown, name: string): unknown {
  if (!(error instanceof ExecError) || error.code !== "NOT_FOUND") return error;
  return new Failure(`there is no kept process '${name}'; see 'exec-server ps'`);
}
