import { ConnectionError, ExecError, FileError, SpawnError } from "../../client/browser.ts";
import { visibleText } from "../../base/visible-text.ts";

export interface DescribedError {
  readonly text: string;
  readonly remedy: string | undefined;
}

/** For actions that need a connection, while there is none. */
export const NOT_CONNECTED: DescribedError = {
  text: "Not connected to the server.",
  remedy: "The page reconnects by itself. Try again then.",
};

/** An error in words for users, with the remedy. */
export function describeError(error: unknown): DescribedError {
  return { text: textOf(error), remedy: remedyOf(error) };
}

/** The failed action and the reason: `a.txt was not renamed: Permission denied`. */
export function describeFailure(what: string, error: unknown): DescribedError {
  const { text, remedy } = describeError(error);
  return { text: `${what}: ${text}`, remedy };
}

function textOf(error: unknown): string {
  if (error instanceof ConnectionError && error.code === "SESSION_LOST") return SESSION_LOST;
  const message = error instanceof Error ? error.message : String(error);
  // Names, such as `fs/readFile`, stay as they are.
  return visibleText(
    message.replace(/^[a-z]+(?=[\s,;:])/, (word) => word.charAt(0).toUpperCase() + word.slice(1)),
  );
}

const SESSION_LOST = "The server was restarted before it answered.";

function remedyOf(error: unknown): string | undefined {
  if (error instanceof SpawnError && error.reason !== undefined) return SPAWN_REMEDIES[error.reason];
  if (error instanceof FileError && error.errno !== undefined) return FILE_REMEDIES[error.errno];
  if (error instanceof ConnectionError)
    return error.code === "EFFECT_UNKNOWN"
      ? "The connection was lost before the answer arrived. Check whether it was done before you try again."
      : NOT_CONNECTED.remedy;
  if (error instanceof ExecError) return REMEDIES[error.code];
  return undefined;
}

const REMEDIES: Partial<Record<ExecError["code"], string>> = {
  PERMISSION_DENIED: "Your access does not include this. Ask the person who runs the server.",
  LIMIT_REACHED: "A limit of the server is reached: end something that you no longer need, and try again.",
  UNSUPPORTED: "This server does not support it.",
  ALREADY_EXISTS: "Choose another name, or open the process that has it.",
  AUDIT_FAILED: "The server cannot write its audit log; its disk may be full. Ask the person who runs it.",
};

const SPAWN_REMEDIES: Record<string, string | undefined> = {
  notFound: "Install the program on the server's machine, or give its full path.",
  notExecutable: "Make the file executable, or start it with its interpreter.",
  noSuchDirectory: "Choose a working directory that exists on the server's machine.",
  limit: "A limit is reached: end something that you no longer need, and try again.",
};

const FILE_REMEDIES: Record<string, string | undefined> = {
  EACCES: "The server's user does not have permission.",
  EPERM: "The server's user does not have permission.",
  ENOENT: "It may have been moved or deleted in the meantime.",
  ENOSPC: "The disk of the server's machine is full.",
  EROFS: "That file system is read-only.",
  EEXIST: "Choose another name.",
  EISDIR: "A directory has this name: choose another one.",
  ENOTEMPTY: "The directory is not empty.",
};
