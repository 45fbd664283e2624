import { ExecError } from "../../base/errors.ts";

/** What the caller is told where a server does not have what was asked for. */
export function unsupported(extension: string): ExecError {
  return new ExecError("UNSUPPORTED", `this server does not have ${extension}`);
}
