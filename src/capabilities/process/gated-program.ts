import type { Program } from "../../native/spawn.ts";

/** Variables that shells set on their own. */
const SHELL_VARIABLES = ["PWD", "OLDPWD", "SHLVL"];

/**
 * posix_spawn can neither set limits nor choose a control group, and doing so for a running program is too late. So a
 * shell is started that waits for a line at the gate; once everything is set it gets the line and becomes the program.
 * If the line never comes, it ends.
 */
export function gated(program: Program, env: ReadonlyMap<string, string>, gate: number): Program {
  const own = SHELL_VARIABLES.filter((name) => !env.has(name));
  const script = `read -r go <&3 || exit 126; exec 3<&-; unset ${own.join(" ")}; exec "$@"`;
  return {
    ...program,
    path: "/bin/sh",
    argv: ["sh", "-c", script, "sh", program.path, ...program.argv.slice(1)],
    descriptors: [{ from: gate, to: 3 }, ...(program.descriptors ?? [])],
  };
}
