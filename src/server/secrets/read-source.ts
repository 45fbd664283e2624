import { execFile } from "node:child_process";
import { messageOf } from "../../base/errors.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import { readOwnFile } from "../access/read-own-file.ts";
import type { SecretOptions } from "../settings/secret-options.ts";

const COMMAND_TIMEOUT_MS = 20_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** Reads a secret where it is kept. Rejects with a reason that does not contain it. */
export async function readSource(options: SecretOptions, environment: Environment): Promise<string> {
  const { name, from, variable = name, path = "", command = [] } = options;
  if (from === "file") return readOwnFile(path, `the secret ${name}`);
  if (from === "command") return outputOf(command, environment);
  const value = environment[variable];
  if (value === undefined) throw new Error(`the server's environment has no ${variable}`);
  return value;
}

/** What a command prints. */
function outputOf([program = "", ...args]: readonly string[], environment: Environment): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      cwd: "/",
      env: environment as NodeJS.ProcessEnv,
      timeout: COMMAND_TIMEOUT_MS,
      killSignal: "SIGKILL",
      maxBuffer: MAX_OUTPUT_BYTES,
    } as const;
    const child = execFile(program, args, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`its command ${program} failed: ${reasonOf(error)}`));
    });
    child.stdin?.end();
  });
}

/** Without the command line and the output, which Node puts into the message. */
function reasonOf(error: Error & { code?: unknown; killed?: boolean; signal?: string }): string {
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
    return `it prints more than ${MAX_OUTPUT_BYTES} bytes`;
  if (error.killed === true) return `it took longer than ${COMMAND_TIMEOUT_MS / 1_000} s`;
  if (typeof error.code === "number") return `it ended with status ${error.code}`;
  return typeof error.code === "string" ? error.code : (error.signal ?? messageOf(error));
}
