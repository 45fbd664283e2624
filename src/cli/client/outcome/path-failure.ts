import { FileError } from "../../../client/files/file-error.ts";
import { Failure } from "../../shared/failure.ts";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  ENOTDIR: "not a directory",
  EISDIR: "is a directory",
  ELOOP: "too many levels of links",
  ENAMETOOLONG: "name too long",
};

/** One line about a path that was refused; undefined for unrelated errors. */
export function pathFailure(error: unknown, path: string): Failure | undefined {
  if (!(error instanceof FileError)) return undefined;
  return new Failure(`${path}: ${reasonOf(error)}`);
}

function reasonOf({ errno, code, path, message }: FileError): string {
  const known = errno === undefined ? undefined : REASONS[errno];
  if (known !== undefined) return known;
  if (code === "NOT_FOUND") return "no such file or directory";
  if (code === "PERMISSION_DENIED") return "permission denied";
  // The library's message names the call and the path first.
  const start = message.indexOf(`${path}: `);
  const reason = start < 0 ? message : message.slice(start + path.length + 2);
  return reason.replace(`path \`${path}\` `, "");
}
