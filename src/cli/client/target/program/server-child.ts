import { Failure } from "../../outcome/failure.ts";

/** A command that serves on its stdin and stdout, here or on another machine. */
export interface ServerProgram {
  /** As the user names it. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Counts the programs that have started one another to reach a server. */
const HOPS_VARIABLE = "EXEC_SERVER_HOPS";
/** Nobody has that many machines in a row. A host that leads to itself would go on for ever. */
const MAX_HOPS = 8;

/** How to start the command. */
export function serverChild({ name, cwd, env }: ServerProgram, command: readonly [string, ...string[]]) {
  const hops = Number.parseInt(process.env[HOPS_VARIABLE] ?? "0", 10) || 0;
  if (hops >= MAX_HOPS)
    throw new Failure(
      `host '${name}' was not started: ${hops} programs have started one another to reach a server; does a host lead to itself?`,
    );
  return {
    command,
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...env, [HOPS_VARIABLE]: String(hops + 1) },
  };
}
