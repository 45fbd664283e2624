import { UsageError } from "../../base/errors.ts";
import type { ToolHost } from "./tool-host.ts";
import type { ExecCommandArgs } from "./arguments.ts";
import type { ExecToolsOptions } from "./exec-tools-api.ts";

/** Runs `cmd` in a shell, by default the login shell of the server's user. Old servers say nothing about their shell. */
export function shellCommand(
  { cmd, shell, login }: ExecCommandArgs,
  options: Pick<ExecToolsOptions, "shell" | "login">,
  environment: ToolHost["environment"],
): string[] {
  const named = environment === undefined ? "/bin/sh" : environment.shell?.path;
  const program = shell ?? options.shell ?? named;
  if (program === undefined)
    throw new UsageError(
      "exec_command: the server does not report a shell; pass one as shell, or argv instead of cmd",
    );
  return [program, (login ?? options.login ?? true) ? "-lc" : "-c", cmd ?? ""];
}
