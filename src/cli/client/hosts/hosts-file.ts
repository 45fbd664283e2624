import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import { ownAccount } from "../../../native/account.ts";
import { describeFileError } from "../describe-file-error.ts";
import { Failure } from "../failure.ts";
import { entryFault, type HostEntry } from "./host-entry.ts";

const OTHERS_MAY_READ = 0o044;
/** Codex's other keys: a whole file of its can be used here. */
const TOP_KEYS = new Set(["environments", "default", "include_local"]);

/** The user's hosts, and the file that they are in. */
export interface HostsFile {
  readonly path: string;
  /** Undefined if there is no file. */
  readonly text: string | undefined;
  readonly hosts: readonly HostEntry[];
  /** True if the file holds a token that other users can read. */
  readonly isExposed: boolean;
}

/** Where the file is, or would be. */
export function hostsPath(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME, HOME } = environment;
  if (XDG_CONFIG_HOME?.startsWith("/")) return join(XDG_CONFIG_HOME, "exec-server", "hosts.toml");
  const home = HOME || ownAccount()?.home || "/";
  return join(home, ".config", "exec-server", "hosts.toml");
}

/** Reads the file. Throws a Failure for one that cannot be read, or has anything in it that is not known. */
export function readHosts(path: string = hostsPath()): HostsFile {
  const text = readText(path);
  if (text === undefined) return { path, text, hosts: [], isExposed: false };
  const hosts = parseHosts(text, path);
  const hasToken = hosts.some(({ auth_bearer_token: token }) => token !== undefined);
  return { path, text, hosts, isExposed: hasToken && (statSync(path).mode & OTHERS_MAY_READ) !== 0 };
}

/** The hosts in the text of such a file. */
export function parseHosts(text: string, path: string): readonly HostEntry[] {
  const file = parseToml(text, path);
  for (const key of Object.keys(file))
    if (!TOP_KEYS.has(key))
      throw new Failure(`${path}: '${key}' is not a known key; hosts are [[environments]] with an 'id'`);
  const { environments = [] } = file;
  if (!Array.isArray(environments)) throw new Failure(`${path}: hosts are written as [[environments]]`);
  const known = new Set<string>();
  environments.forEach((entry: unknown, index) => {
    const { id } = (entry ?? {}) as { id?: unknown };
    const fault = entryFault(entry) ?? (known.has(String(id)) ? "its 'id' is there twice" : undefined);
    const shown = typeof id === "string" ? `host '${id}'` : `host ${index + 1}`;
    if (fault !== undefined) throw new Failure(`${path}: ${shown} cannot be used: ${fault}`);
    known.add(String(id));
  });
  return environments;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Failure(`cannot read ${path}: ${describeFileError(error)}`);
  }
}

function parseToml(text: string, path: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ""] = error.message.split("\n");
    throw new Failure(`${path}:${error.line}:${error.column}: ${summary}`);
  }
}
