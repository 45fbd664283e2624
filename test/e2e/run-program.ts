import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { withDeadline } from "../fault/deadline.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const DEADLINE_MS = 60_000;

export interface RunOptions {
  readonly path?: string;
  readonly cwd?: string;
  /** A command that runs the program, such as `unshare`. */
  readonly through?: readonly string[];
}

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built program to its end. */
export async function runProgram(
  args: readonly string[],
  { path = SERVER_PATH, cwd = "/", through = [] }: RunOptions = {},
): Promise<Ended> {
  const [program = process.execPath, ...rest] = [...through, process.execPath, PROGRAM, ...args];
  const child = spawn(program, rest, { cwd, env: { PATH: path }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const status = await withDeadline(
    ended,
    DEADLINE_MS,
    () => `the end of ${args.join(" ")}: ${stdout}${stderr}`,
  );
  return { status, stdout, stderr };
}
