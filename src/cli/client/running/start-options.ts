import type { StartOptions } from "../../../client/process/start-request.ts";
import type { SandboxPreset } from "../../../protocol/sandbox-options.ts";
import { usageFailure } from "../outcome/failure.ts";
import type { Connected } from "../target/connect-target.ts";
import { absolutePath, localDirectory } from "../target/remote-path.ts";

/** What the command line says about a start. */
export interface StartFlags {
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly timeout?: number;
  readonly sandbox?: SandboxPreset;
}

/**
 * On the user's own server a command gets the directory and the environment of this shell; elsewhere those of the
 * server, which know its machine.
 */
export function startOptions(connected: Connected, flags: StartFlags): StartOptions {
  const { isOwn } = connected;
  const cwd = workingDirectory(connected, flags.cwd);
  const given = Object.fromEntries(variables(flags.env ?? []));
  return {
    ...(cwd === undefined ? {} : { cwd }),
    env: isOwn ? { ...process.env, ...given } : given,
    ...(isOwn ? { inheritEnv: "none" } : {}),
    ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
    ...(flags.sandbox === undefined ? {} : { sandbox: flags.sandbox }),
  };
}

/** The variables of `--env`, by name. */
export const variables = (given: readonly string[]): [string, string][] => given.flatMap(variable);

/** A relative one starts where the command would run without it. */
export function workingDirectory(connected: Connected, given: string | undefined): string | undefined {
  if (given !== undefined) return absolutePath(connected, { host: undefined, path: given });
  return connected.isOwn ? localDirectory() : undefined;
}

/** `K=V`, or `K` for the value that it has here; nothing if it has none. */
function variable(text: string): [string, string][] {
  const [name = "", ...rest] = text.split("=");
  if (name === "") throw usageFailure(`--env needs NAME=VALUE or NAME, not '${text}'`);
  const value = rest.length > 0 ? rest.join("=") : process.env[name];
  return value === undefined ? [] : [[name, value]];
}
