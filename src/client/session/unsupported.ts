import { ExecError } from "../../base/errors.ts";

/** The error for an extension that the server does not have. */
export function unsupported(extension: string): ExecError {
  return new ExecError("UNSUPPORTED", `this server does not have ${extension}`);
}
