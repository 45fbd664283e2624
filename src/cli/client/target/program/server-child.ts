import { defined } from "../../../shared/defined.ts";
import { Failure } from "../../../shared/failure.ts";

/** A command that serves on its stdin and stdout, here or on another machine. */
export interface ServerProgram {
  /** The user's name for it. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** It reaches a machine to which exec-server may be brought: see `bring/`. */
  readonly brings?: boolean;
  /** False if it never asks for a password. Ctrl-C then does not reach it, whatever it makes of signals. Default: true. */
  readonly usesTerminal?: boolean;
}

/** Counts the programs that have started one another to reach a server. */
const HOPS_VARIABLE = "EXEC_SERVER_HOPS";
/** Real chains are shorter. A host that refers to itself would go on forever. */
const MAX_HOPS = 8;

/** Options for starting the command. */
export function serverChild({ name, cwd, env }: ServerProgram, command: readonly [string, ...string[]]) {
  const hops = Number.parseInt(process.env[HOPS_VARIABLE] ?? "0", 10) || 0;
  if (hops >= MAX_HOPS)
    throw new Failure(
      `host '${name}' was not started: ${hops} programs have started one another to reach a server; does a host refer to itself?`,
    );
  return defined({ command, cwd, env: { ...env, [HOPS_VARIABLE]: String(hops + 1) } });
}
