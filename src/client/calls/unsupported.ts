import { ExecError } from "../../base/errors.ts";

/** The error for an extension that the server does not have. */
export function unsupported(extension: string): ExecError {
  return new ExecError("UNSUPPORTED", `this server does not have ${extension}`);
}

/** Throws unless the server has an extension. */
export function needs(session: { supports(extension: string): boolean }, extension: string): void {
  if (!session.supports(extension)) throw unsupported(extension);
}
