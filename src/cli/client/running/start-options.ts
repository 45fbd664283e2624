import { pathFromUri } from "../../../base/file-uri.ts";
import type { Host } from "../../../client/host/host.ts";
import { defined } from "../../shared/defined.ts";
import type { StartOptions } from "../../../client/process/start-request.ts";
import type { SandboxPreset } from "../../../protocol/sandbox-options.ts";
import { usageFailure } from "../../shared/failure.ts";
import { namedSecrets } from "./secret-flags.ts";
import type { Connected } from "../target/connect-target.ts";
import { absolutePath, localDirectory } from "../target/remote-path.ts";

/** Command line options for a start. */
export interface StartFlags {
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly timeout?: number;
  readonly sandbox?: SandboxPreset;
  readonly secret?: readonly string[];
}

/**
 * On the user's own server a command gets the directory and the environment of this shell; elsewhere the server's,
 * which fit its machine.
 */
export function startOptions(connected: Connected, flags: StartFlags): StartOptions {
  const { isOwn } = connected;
  const set = Object.fromEntries(variables(flags.env ?? []));
  return defined({
    cwd: workingDirectory(connected, flags.cwd),
    env: isOwn ? { ...process.env, ...withheld(flags), ...set } : set,
    inheritEnv: isOwn ? "none" : undefined,
    timeoutMs: flags.timeout,
    sandbox: flags.sandbox,
    secrets: flags.secret === undefined ? undefined : namedSecrets(flags.secret),
  });
}

/** A sandbox keeps a program from the user's files, and so from the ssh agent, which would sign for it. */
function withheld({ sandbox }: StartFlags): StartOptions["env"] {
  return sandbox === undefined ? {} : { SSH_AUTH_SOCK: undefined };
}

/** Names that servers do not let processes inherit either. */
const SECRET = /KEY|SECRET|TOKEN/i;

/** The same of names that would hide too much from other programs. */
const PRIVATE = /PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PASS|PAT|PW|PWD|SAS|AUTH|COOKIES?)$/i;
const NOT_PRIVATE = new Set(["PWD", "OLDPWD"]);
const URL_WITH_PASSWORD = /^[a-z][a-z0-9+.-]{0,30}:\/\/[^/@\s:]{0,1000}:[^/@\s]{1,1000}@/i;

/** The variables of this shell for commands of a model: without those that look like secrets. */
export function variablesForModels(): [string, string][] {
  return Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || isPrivate(name, value) ? [] : [[name, value]],
  );
}

function isPrivate(name: string, value: string): boolean {
  if (SECRET.test(name) || (PRIVATE.test(name) && !NOT_PRIVATE.has(name))) return true;
  return URL_WITH_PASSWORD.test(value);
}

/** The variables of `--env`, by name. */
export const variables = (texts: readonly string[]): [string, string][] => texts.flatMap(variable);

/** A relative one starts where the command would run without it. */
export function workingDirectory(connected: Connected, typed: string | undefined): string | undefined {
  if (typed !== undefined) return absolutePath(connected, { host: undefined, path: typed });
  return connected.isOwn ? localDirectory() : undefined;
}

/** `K=V`, or `K` for the value that it has here; nothing if it has none. */
function variable(text: string): [string, string][] {
  const [name = "", ...rest] = text.split("=");
  if (name === "") throw usageFailure(`--env needs NAME=VALUE or NAME, not '${text}'`);
  const value = rest.length > 0 ? rest.join("=") : process.env[name];
  return value === undefined ? [] : [[name, value]];
}

/** The command line of a login shell on the server's machine. */
export function loginShell(host: Host): readonly string[] {
  return [host.environment?.shell.path ?? "/bin/sh", "-l"];
}

/** The home directory there, where a login shell starts. */
export function homeOf(host: Host): { cwd?: string } {
  const uri = host.environment?.userHomeDir;
  const home = typeof uri === "string" ? pathFromUri(uri) : undefined;
  return typeof home === "string" ? { cwd: home } : {};
}
