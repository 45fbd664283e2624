import type { Program } from "../../native/spawn.ts";

/** Variables that shells set on their own. */
const SHELL_VARIABLES = ["PWD", "OLDPWD", "SHLVL"];

/** What a gated program waits for, and what it writes to when it waits. */
export interface Gate {
  readonly readEnd: number;
  readonly ready: number;
}

/**
 * posix_spawn can neither set limits nor choose a control group, and doing so for a running program is too late. So a
 * shell is started that says when it is ready, because a limit must not hit it while it is being loaded, and waits for
 * a line at the gate; once everything is set it gets the line and becomes the program. If the line never comes, it ends.
 */
export function gated(program: Program, env: ReadonlyMap<string, string>, gate: Gate): Program {
  const own = SHELL_VARIABLES.filter((name) => !env.has(name));
  const script = `echo >&8; exec 8>&-; read -r go <&3 || exit 126; exec 3<&-; unset ${own.join(" ")}; exec "$@"`;
  return {
    ...program,
    path: "/bin/sh",
    argv: ["sh", "-c", script, "sh", program.path, ...program.argv.slice(1)],
    descriptors: [{ from: gate.readEnd, to: 3 }, { from: gate.ready, to: 8 }, ...(program.descriptors ?? [])],
  };
}
