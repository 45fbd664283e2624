import {
  certainSpawnFailure,
  SPAWN_FAILURES,
  type SpawnFailure,
  spawnFailureOnWire,
} from "../../base/error-codes.ts";
import { type ErrorCode, RpcError } from "../../base/errors.ts";
import { pathFromUri } from "../../base/file-uri.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { errnoOf } from "../calls/errno.ts";
import type { StartParams } from "./start-request.ts";

/**
 * The server did not start a program. `code` is SPAWN_FAILED if its system refused; otherwise it names the problem with
 * the start.
 */
export class SpawnError extends RpcError {
  readonly program: string;
  /** The requested working directory. */
  readonly cwd: string;
  /** Why it did not start; undefined if the server's answer is not conclusive. */
  readonly reason: SpawnFailure | undefined;
  /** Symbolic name of the system's error, such as `ENOENT`. */
  readonly errno: string | undefined;

  constructor({ argv, cwd }: Pick<StartParams, "argv" | "cwd">, refusal: RpcError) {
    const program = argv[0] ?? "";
    const directory = pathOf(cwd);
    const errno = errnoOf(refusal);
    const code = codeOf(refusal);
    const reason = reasonOf(refusal, code, errno);
    const why = reason === undefined ? refusal.message : `${SPAWN_FAILURES[reason]} (${refusal.message})`;
    super(refusal.rpcCode, `cannot start ${program} in ${directory}: ${why}`, {
      code,
      data: refusal.data,
      cause: refusal,
    });
    this.program = program;
    this.cwd = directory;
    this.reason = reason;
    this.errno = errno;
  }
}

/** Codex's server uses one number for every system error of a start. */
function codeOf({ code, rpcCode }: RpcError): ErrorCode {
  return code === "RPC_ERROR" && rpcCode === RpcCode.internal ? "SPAWN_FAILED" : code;
}

function reasonOf(
  { data, message }: RpcError,
  code: ErrorCode,
  errno: string | undefined,
): SpawnFailure | undefined {
  if (code === "LIMIT_REACHED") return "limit";
  if (code !== "SPAWN_FAILED") return undefined;
  // Codex's "No such file or directory" can mean the program or its directory, so it proves neither.
  return spawnFailureOnWire(data) ?? certainSpawnFailure(errno) ?? reasonOnTerminal(message);
}

/** Codex reports the whole search if a program on a terminal was not found. */
function reasonOnTerminal(message: string): SpawnFailure | undefined {
  if (!message.startsWith("Unable to spawn ") || !message.includes("\nNo viable candidates found in PATH "))
    return undefined;
  const unusable = [" exists but is not executable.\n", " exists but is a directory.\n"];
  return unusable.some((words) => message.includes(words)) ? "notExecutable" : "notFound";
}

function pathOf(cwd: string): string {
  try {
    const path = pathFromUri(cwd);
    return typeof path === "string" ? path : cwd;
  } catch {
    // The server runs another system.
    return cwd;
  }
}
