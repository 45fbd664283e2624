import { ConnectionError, ExecError, FileError, SpawnError } from "../../client/browser.ts";
import { visibleText } from "../ui/visible-text.ts";

export interface DescribedError {
  readonly text: string;
  readonly remedy: string | undefined;
}

/** An error in words for people, with what they can do about it. */
export function describeError(error: unknown): DescribedError {
  const message = error instanceof Error ? error.message : String(error);
  const text = visibleText(message.charAt(0).toUpperCase() + message.slice(1));
  return { text, remedy: remedyOf(error) };
}

function remedyOf(error: unknown): string | undefined {
  if (error instanceof SpawnError) return SPAWN_REMEDIES[error.reason ?? "other"];
  if (error instanceof FileError && error.errno !== undefined) return FILE_REMEDIES[error.errno];
  if (error instanceof ConnectionError)
    return error.code === "EFFECT_UNKNOWN"
      ? "The connection was lost before the answer came. Look whether it was done before you do it again."
      : "The page reconnects by itself. Try again when it has.";
  if (error instanceof ExecError) return REMEDIES[error.code];
  return undefined;
}

const REMEDIES: Partial<Record<ExecError["code"], string>> = {
  PERMISSION_DENIED: "Your access does not include this. Ask whoever runs the server.",
  LIMIT_REACHED: "A limit of the server is reached: end something that you no longer need, and try again.",
  UNSUPPORTED: "This server does not have it.",
  ALREADY_EXISTS: "Choose another name, or open the process that has it.",
  AUDIT_FAILED: "The server cannot write its audit log. Whoever runs it must make room.",
};

const SPAWN_REMEDIES: Record<string, string | undefined> = {
  notFound: "Install the program on the server's machine, or give its full path.",
  notExecutable: "Make the file executable, or start it with its interpreter.",
  noSuchDirectory: "Choose a working directory that exists on the server's machine.",
  limit: "A limit is reached: end something that you no longer need, and try again.",
};

const FILE_REMEDIES: Record<string, string | undefined> = {
  EACCES: "The server's user has no permission for it.",
  EPERM: "The server's user has no permission for it.",
  ENOENT: "It may have been moved or deleted in the meantime.",
  ENOSPC: "The disk of the server's machine is full.",
  EROFS: "That file system is read-only.",
  EEXIST: "Choose another name.",
  ENOTEMPTY: "The directory is not empty.",
};
