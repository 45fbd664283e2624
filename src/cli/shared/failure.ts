import { ConnectionError, ExecError } from "../../base/errors.ts";
import { describeErrno } from "../../native/os-error.ts";

/** The program ends with this status because of a mistake in the command line. */
export const USAGE_STATUS = 2;
/** Status of `run`, `shell` and `attach` if exec-server itself failed, so that it is not mistaken for the command's. */
export const OWN_FAILURE_STATUS = 255;

/** Ends the program with one line on stderr, or without a word if the message is empty. */
export class Failure extends Error {
  /** Undefined if the command decides. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A mistake in the command line. */
export function usageFailure(message: string): Failure {
  return new Failure(message, USAGE_STATUS);
}

/**
 * Turns a command's error into its message and status. Errors that this package throws on purpose become one line;
 * undefined means a bug of the program.
 */
export function asFailure(error: unknown, exitCode: number): Failure | undefined {
  if (error instanceof Failure)
    return error.exitCode === undefined ? new Failure(error.message, exitCode) : error;
  if (isWriteError(error))
    return new Failure(`cannot write the output: ${describeFileError(error)}`, exitCode);
  if (!(error instanceof ExecError)) return undefined;
  const status = error.code === "USAGE" ? USAGE_STATUS : exitCode;
  return new Failure(withRemedy(error), status);
}

/** The system's words for an error of `node:fs`, without the path, which the caller's message names. */
export function describeFileError(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  return code === undefined || errno === undefined ? message : describeErrno(code, Math.abs(errno));
}

/** True if this program could not write to its own output. */
export function isWriteError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "write";
}

/** Sources of the tokens for the servers that this command uses. Usually there is one. */
const tokenSources = new Set<string>();

/**
 * What follows `pass the server's token` in the remedy for a refused token, such as `in EXEC_SERVER_TOKEN`. It is noted
 * where a token is read: one that is withdrawn while a command runs is refused far from there.
 */
export function noteTokenSource(source: string): void {
  tokenSources.add(source);
}

/** The library's text for a lost connection. If a program reaches a host, the host follows in quotes. */
const DISCONNECTED = /^exec-server transport disconnected(: (?='))?/;

function withRemedy(error: ExecError): string {
  const message = oneLine(error.message).replace(
    DISCONNECTED,
    (_, host) => `lost the connection${host === undefined ? "" : " to "}`,
  );
  if (!(error instanceof ConnectionError)) return message;
  // Another of these programs was started to reach the server, and has said why it could not.
  const [, said] = / its last lines on stderr: exec-server: (.*)/.exec(message) ?? [];
  if (said !== undefined) return said;
  if (error.code === "UNAUTHORIZED")
    return `${message}; pass the server's token ${[...tokenSources, "with --token-file"].join(" or ")}`;
  if (error.errno === "ECONNREFUSED" || error.errno === "ENOENT")
    return `${message}; is the server running there?`;
  return message;
}

/** Joins the lines of a message. */
export function oneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}
