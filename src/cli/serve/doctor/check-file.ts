import { accessSync, constants, statSync } from "node:fs";
import { describeFileError } from "../../shared/failure.ts";
import { type Check, failed, passed } from "./check.ts";

const NAME = "file";
/** A group may read a secret: the server's own, if root has written it. */
const SECRET_BITS = 0o027;
/** The server refuses such a file. */
const TRUSTED_BITS = 0o002;

/** A file of the server. */
export interface ServerFile {
  readonly what: string;
  readonly path: string;
  /** Whether reading it is enough to do harm; otherwise only writing it is. */
  readonly isSecret: boolean;
}

/** Whether the server can read its file, and others cannot do what they must not. */
export function checkFile({ what, path, isSecret }: ServerFile): Check {
  const shown = `${what} ${path}`;
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return failed(NAME, `${shown} is not a regular file`, "name the file itself");
    accessSync(path, constants.R_OK);
    const mode = (stat.mode & 0o777).toString(8);
    const open = stat.mode & (isSecret ? SECRET_BITS : TRUSTED_BITS);
    if (open !== 0)
      return failed(
        NAME,
        `${shown} is open to others (mode ${mode}): they could ${(open & 0o022) === 0 ? "read" : "change"} it`,
        isSecret ? `chmod 600 ${path}` : `chmod o-w ${path}`,
      );
    return passed(
      NAME,
      isSecret ? `${shown} is secret (mode ${mode})` : `${shown} is safe from others (mode ${mode})`,
    );
  } catch (error) {
    return failed(
      NAME,
      `${shown}: ${describeFileError(error)}`,
      "run doctor as the user that runs the server, and let that user read the file",
    );
  }
}
