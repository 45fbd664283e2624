import { type Ended, runCommand } from "../cli/command.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";

export interface RunOptions {
  readonly path?: string;
  readonly cwd?: string;
  /** A command that runs the program, such as `unshare`. */
  readonly through?: readonly string[];
}

/** Runs the built program to its end. */
export async function runProgram(
  args: readonly string[],
  { path = SERVER_PATH, ...options }: RunOptions = {},
): Promise<Omit<Ended, "signal">> {
  const { status, stdout, stderr } = await runCommand(args, { ...options, env: { PATH: path } });
  return { status, stdout, stderr };
}
