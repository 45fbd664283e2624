import { statSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import { ownAccount } from "../../../native/account.ts";
import { readSmallFile } from "../../read-small-file.ts";
import { describeFileError } from "../../describe-file-error.ts";
import { Failure } from "../failure.ts";
import { entryFault, type HostEntry } from "./host-entry.ts";

const OTHERS_MAY_READ = 0o044;
/** Codex's other keys: a whole file of its can be used here. */
const TOP_KEYS = new Set(["environments", "default", "include_local"]);

/** The hosts in a file. */
interface Hosts {
  /** Those that can be used. */
  readonly hosts: readonly HostEntry[];
  /** Why the others cannot. Each concerns only itself. */
  readonly faults: readonly HostFault[];
  /** All, in their order. */
  readonly entries: readonly unknown[];
  /** The names of all; undefined for an entry that has none. */
  readonly names: readonly (string | undefined)[];
}

interface HostFault {
  readonly id: string | undefined;
  readonly message: string;
}

/** The user's hosts, and the file that they are in. */
export interface HostsFile extends Hosts {
  readonly path: string;
  /** Undefined if there is no file. */
  readonly text: string | undefined;
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

/** Reads the file. Throws a Failure for one that cannot be read, or is not of this kind. */
export function readHosts(path: string = hostsPath()): HostsFile {
  const text = readText(path);
  const found = parseHosts(text ?? "", path);
  const hasToken = found.hosts.some(({ auth_bearer_token: token }) => token !== undefined);
  return { path, text, ...found, isExposed: hasToken && (statSync(path).mode & OTHERS_MAY_READ) !== 0 };
}

/** The hosts in the text of such a file. */
export function parseHosts(text: string, path: string): Hosts {
  const file = parseToml(text, path);
  for (const key of Object.keys(file))
    if (!TOP_KEYS.has(key))
      throw new Failure(`${path}: '${key}' is not a known key; hosts are [[environments]] with an 'id'`);
  const { environments: entries = [] } = file;
  if (!Array.isArray(entries)) throw new Failure(`${path}: hosts are written as [[environments]]`);
  const names = entries.map(nameOf);
  const faults = entries.flatMap((entry: unknown, index): HostFault[] => {
    const id = names[index];
    const isFirst = names.indexOf(id) === index;
    const isTwice = id !== undefined && isFirst && names.includes(id, index + 1);
    const fault = entryFault(entry) ?? (isTwice ? "its 'id' is there twice" : undefined);
    const shown = id === undefined ? `host ${index + 1}` : `host '${id}'`;
    return fault === undefined ? [] : [{ id, message: `${path}: ${shown} cannot be used: ${fault}` }];
  });
  const unusable = new Set(faults.map(({ id }) => id));
  return { entries, names, faults, hosts: entries.filter((_, index) => !unusable.has(names[index])) };
}

function nameOf(entry: unknown): string | undefined {
  const { id } = (entry ?? {}) as { id?: unknown };
  return typeof id === "string" ? id : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readSmallFile(path).toString("utf8");
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
