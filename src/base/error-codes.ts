/** Facts about one code. */
interface CodeFacts {
  /** Human-readable meaning. */
  readonly meaning: string;
  /** Whether a server may send it as `data.code` of an error response. */
  readonly onWire: boolean;
  /** Exit status of the program if it ends because of this code. */
  readonly exitCode: number;
}

const wire = (meaning: string, exitCode = 1): CodeFacts => ({ meaning, onWire: true, exitCode });
const local = (meaning: string, exitCode = 1): CodeFacts => ({ meaning, onWire: false, exitCode });

/**
 * Every code that says why something failed. The wire's `data.code`, the library's `ExecError.code` and the program's
 * exit statuses derive from it, and the documentation lists it.
 */
export const ERROR_CODES = {
  NOT_FOUND: wire("A file, a process, a session or an executor does not exist"),
  PERMISSION_DENIED: wire("The system, the allowed roots or the configuration forbids it"),
  INVALID_INPUT: wire("The request is invalid: an impossible value, a relative path, a NUL"),
  OS_ERROR: wire("The system refused; `errno` says why, if known"),
  UNSUPPORTED: wire("The server, or its machine, does not support it"),
  SPAWN_FAILED: wire("The program did not start; `reason` says why, if that is certain"),
  LIMIT_REACHED: wire("A limit of the server's configuration, or of the client's queues, was reached"),
  AUDIT_FAILED: wire("The server cannot record the request in its audit log, so it must not carry it out"),
  ALREADY_EXISTS: wire("A kept process has that name"),
  IDEMPOTENCY_CONFLICT: wire("The `idempotencyKey` was used for a different start"),
  CONNECTION_REFUSED: wire("Nothing listens on the address of a server or of an HTTP request"),
  UNKNOWN_HOST: wire("The host name of a server or of an HTTP request has no address"),
  TIMED_OUT: wire("The operation timed out"),
  RPC_ERROR: local("Any other error response of the server; see `rpcCode`"),
  CONNECTION_CLOSED: local("No answer will come: the connection failed or was closed"),
  SESSION_LOST: local("The server no longer has the session; nothing in it can be recovered"),
  EFFECT_UNKNOWN: local(
    "The answer was lost and the session continues; the call may or may not have taken effect",
  ),
  UNAUTHORIZED: local("The server refused the token, or requires one"),
  OUTPUT_LOST: local("The server had evicted output that was requested again"),
  COMMAND_FAILED: local("`run` with `check`: the exit status is not 0"),
  STDIN_CLOSED: local("The process has ended or takes no input"),
  PROTOCOL_ERROR: local("The peer violated the protocol, or could not parse this request"),
  USAGE: local("A mistake by the caller, detected before anything was done", 2),
} as const satisfies Readonly<Record<string, CodeFacts>>;

/** Reason for a failure, for programs to switch on. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Reads the `data.code` of an error from a server. An unknown code counts as none. */
export function codeOnWire(data: unknown): ErrorCode | undefined {
  const sent = (data as { code?: unknown } | null | undefined)?.code;
  if (typeof sent !== "string" || !Object.hasOwn(ERROR_CODES, sent)) return undefined;
  const code = sent as ErrorCode;
  return ERROR_CODES[code].onWire ? code : undefined;
}

/** Why a program did not start. */
export const SPAWN_FAILURES = {
  notFound: "the program was not found",
  notExecutable: "the program is not executable",
  noSuchDirectory: "the working directory does not exist or is not a directory",
  limit: "a limit of the system or of the server's configuration is reached",
} as const;

/** The `reason` of SPAWN_FAILED. */
export type SpawnFailure = keyof typeof SPAWN_FAILURES;

/** Reads the `data.reason` of an error from a server. */
export function spawnFailureOnWire(data: unknown): SpawnFailure | undefined {
  const sent = (data as { reason?: unknown } | null | undefined)?.reason;
  return typeof sent === "string" && Object.hasOwn(SPAWN_FAILURES, sent) ? (sent as SpawnFailure) : undefined;
}

/** System errors that mean a limit: of descriptors, processes, memory, or the length of arguments. */
const LIMIT_ERRNOS = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "E2BIG"];

/** What a system error of a start means by itself, regardless of the program and its directory. */
export function certainSpawnFailure(errno: string | undefined): SpawnFailure | undefined {
  if (errno === "ENOEXEC") return "notExecutable";
  return errno !== undefined && LIMIT_ERRNOS.includes(errno) ? "limit" : undefined;
}
