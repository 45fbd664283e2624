import { ExecError } from "../../../base/errors.ts";
import { Failure, oneLine } from "../outcome/failure.ts";

/** A name that is not known gets a remedy; any other error is returned as it is. */
export function keptFailure(error: unknown, name: string): unknown {
  if (!(error instanceof ExecError)) return error;
  // The server lists the owners.
  if (error.code === "INVALID_INPUT" && error.message.endsWith("; give its owner"))
    return new Failure(`${oneLine(error.message)}, as in OWNER/${name}`);
  if (error.code !== "NOT_FOUND") return error;
  return new Failure(`there is no kept process '${name}'; see 'exec-server ps'`);
}
