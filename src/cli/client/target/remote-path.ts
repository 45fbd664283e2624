import { Failure } from "../../shared/failure.ts";
import { posix } from "node:path";
import { pathFromUri } from "../../../base/file-uri.ts";
import { readHosts } from "./hosts/hosts-file.ts";
import type { Connected } from "./connect-target.ts";
import type { TargetOptions } from "./target-options.ts";

/** A path as it is typed. */
export interface RemotePath {
  /** Host of hosts.toml, or `FLEET/NAME`; undefined for the host of the options. */
  readonly host: string | undefined;
  /** May be relative, or empty. */
  readonly path: string;
}

const REMOTE = /^([A-Za-z0-9][\w.-]*)?:(.*)$/s;
const ON_EXECUTOR = /^(([A-Za-z0-9][\w-]*)\/[A-Za-z0-9][\w-]*):(.*)$/s;

/** Whether a path has the form of a server's: `:PATH`, `HOST:PATH` or `FLEET/NAME:PATH`. */
export function isRemotePath(text: string): boolean {
  return remotePart(text) !== undefined;
}

/** `:PATH`, `HOST:PATH`, `FLEET/NAME:PATH`, or a bare path. A name with a colon is written `./a:b`. */
export function parseRemotePath(text: string): RemotePath {
  return remotePart(text) ?? { host: undefined, path: text };
}

function remotePart(text: string): RemotePath | undefined {
  const [, host, path] = REMOTE.exec(text) ?? [];
  if (path !== undefined) return { host, path };
  const [, executor, fleet = "", onExecutor] = ON_EXECUTOR.exec(text) ?? [];
  // Without such a fleet it is a file in a directory, as for scp.
  return onExecutor !== undefined && isFleet(fleet) ? { host: executor, path: onExecutor } : undefined;
}

function isFleet(name: string): boolean {
  const { fleets, fleetFaults } = readHosts();
  return fleets.has(name) || fleetFaults.some((fault) => fault.name === name);
}

/** The options for a path: the host that it names wins. */
export function optionsFor({ host }: RemotePath, options: TargetOptions): TargetOptions {
  if (host === undefined) return options;
  const { url: _url, tokenFile: _tokenFile, ...rest } = options;
  return { ...rest, host };
}

/** The absolute path. Others start where `run` starts: here on the user's own server, elsewhere where the server runs. */
export function absolutePath({ host, isOwn }: Connected, { path }: RemotePath): string {
  if (path.startsWith("/")) return path;
  return posix.join(isOwn ? localDirectory() : workingDirectory(host.environment?.cwd), path);
}

function workingDirectory(uri: string | null | undefined): string {
  const path = uri === undefined || uri === null ? "/" : pathFromUri(uri);
  return typeof path === "string" ? path : "/";
}

/** The working directory of this command. */
export function localDirectory(): string {
  try {
    return process.cwd();
  } catch {
    throw new Failure("the working directory no longer exists; change to another one, or pass --cwd");
  }
}
