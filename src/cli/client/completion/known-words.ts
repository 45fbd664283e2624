import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { socketUrl } from "../../../base/socket-url.ts";
import { connect, type FleetTarget } from "../../../client/host/connect.ts";
import type { Executor } from "../../../client/host/executor.ts";
import type { Host } from "../../../client/host/host.ts";
import { defined } from "../../shared/defined.ts";
import { namesOf } from "../kept/kept-name.ts";
import { findFleet } from "../target/hosts/find-fleet.ts";
import { type HostsFile, readHosts } from "../target/hosts/hosts-file.ts";
import { ownServerPaths } from "../target/own-server/own-server-paths.ts";
import {
  absolutePath,
  localDirectory,
  optionsFor,
  parseRemotePath,
  type RemotePath,
} from "../target/remote-path.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import type { Target } from "../target/target.ts";
import type { TargetOptions } from "../target/target-options.ts";

/** The user is waiting with a finger on the Tab key. */
export const DEADLINE_MS = 800;

/** A shell asks before it shows more than a hundred; a thousand are too many to read. */
const MAX_CANDIDATES = 1_000;

/**
 * A shell inserts candidates verbatim. Anything that it could parse as more than one word is not offered: names come
 * from a server, which may be hostile.
 */
const MAX_NAME_LENGTH = 255;
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_.@-]*$/;
const PLAIN_PROGRAM = /^[A-Za-z0-9_][A-Za-z0-9_.+@-]*$/;
const PLAIN_LABEL = /^[A-Za-z0-9][A-Za-z0-9._/-]*=[A-Za-z0-9._/:@+-]+$/;
const PLAIN_PATH = /^[\p{L}\p{N}_./:][\p{L}\p{M}\p{N}_.,:@+=/-]*$/u;

function isPlain(text: string, pattern = PLAIN_NAME): boolean {
  return text.length <= MAX_NAME_LENGTH && pattern.test(text);
}

/** Names of the hosts of hosts.toml. */
export function hostNames(): readonly string[] {
  return namesIn(({ hosts }) => ["local", ...hosts.map(({ id }) => id)]);
}

/** Names of its fleets. */
export function fleetNames(): readonly string[] {
  return namesIn(({ fleets }) => [...fleets.keys()]);
}

function namesIn(select: (file: HostsFile) => readonly string[]): readonly string[] {
  try {
    return select(readHosts()).filter((name) => isPlain(name));
  } catch {
    return [];
  }
}

/** Names of programs of this machine: most are on others, too. */
export async function programNames(begun: string): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const directory of process.env["PATH"]?.split(":") ?? [])
    for (const { name, isDirectory } of await listLocally(directory).catch(() => []))
      if (name.startsWith(begun) && !isDirectory && isPlain(name, PLAIN_PROGRAM)) names.add(name);
  return [...names].sort().slice(0, MAX_CANDIDATES);
}

/** Names of kept processes. */
export async function keptNames(options: TargetOptions): Promise<readonly string[]> {
  await using host = await connectQuickly(await resolveTarget(options));
  const processes = (await host?.processes({ scope: "kept" })) ?? [];
  return namesOf(processes).filter((name) => name.split("/").every((part) => isPlain(part)));
}

/** Names of the executors of a fleet. */
export async function executorNames(fleet: string): Promise<readonly string[]> {
  return (await listExecutors(fleet)).map(({ id }) => id).filter((id) => isPlain(id));
}

/** Labels of the executors of a fleet, or of the only one. */
export async function labelNames(fleet: string | undefined): Promise<readonly string[]> {
  const labels = (await listExecutors(fleet)).flatMap((executor) => Object.entries(executor.labels));
  const words = [...new Set(labels.map(([key, value]) => `${key}=${value}`))].sort();
  return words.filter((word) => isPlain(word, PLAIN_LABEL));
}

async function listExecutors(name: string | undefined): Promise<readonly Executor[]> {
  const { openFleet } = await import("../../../client/host/fleet.ts");
  await using fleet = await openFleet(findFleet(name).address, { connectTimeoutMs: DEADLINE_MS });
  return fleet.list();
}

/** Whether these options mean the user's own server, on this machine. */
export async function isOwnServer(options: TargetOptions): Promise<boolean> {
  return (await resolveTarget(options)).kind === "own";
}

/**
 * Words that continue a path on a server as it was typed: `PATH`, `:PATH` or `HOST:PATH`. Those of directories end with
 * a slash.
 */
export async function pathWords(typed: string, options: TargetOptions): Promise<readonly string[]> {
  const { host, path } = parseRemotePath(typed);
  const directory = path.slice(0, path.lastIndexOf("/") + 1);
  const begun = path.slice(directory.length);
  const before = typed.slice(0, typed.length - begun.length);
  const words: string[] = [];
  for (const { name, isDirectory } of await list({ host, path: directory }, options)) {
    if (!name.startsWith(begun) || (name.startsWith(".") && !begun.startsWith("."))) continue;
    const word = `${before}${name}${isDirectory ? "/" : ""}`;
    if (name.length > MAX_NAME_LENGTH || name.includes("/") || !PLAIN_PATH.test(word)) continue;
    if (words.push(word) === MAX_CANDIDATES) break;
  }
  return words;
}

async function list(directory: RemotePath, options: TargetOptions) {
  const target = await resolveTarget(optionsFor(directory, options));
  // The user's own server sees what this program sees, and need not be running for this.
  if (target.kind === "own") return await listLocally(resolve(localDirectory(), directory.path));
  await using host = await connectQuickly(target);
  if (host === undefined) return [];
  const entries = await host.files.list(absolutePath({ host, isOwn: false }, directory));
  return entries.map(({ name, kind }) => ({ name, isDirectory: kind === "directory" }));
}

async function listLocally(directory: string) {
  const entries = await readdir(directory, { withFileTypes: true });
  const isDirectory = (path: string): Promise<boolean> =>
    stat(path).then(
      (target) => target.isDirectory(),
      () => false,
    );
  return await Promise.all(
    entries.map(async (entry) => ({
      name: entry.name,
      isDirectory: entry.isSymbolicLink()
        ? await isDirectory(join(directory, entry.name))
        : entry.isDirectory(),
    })),
  );
}

/** Only to a running server: a program such as ssh could ask questions, and would take too long. */
async function connectQuickly(target: Target): Promise<Host | undefined> {
  if (target.kind === "program") return undefined;
  const own = target.kind === "own" ? ownServerPaths() : undefined;
  if (own?.exists === false) return undefined;
  return await connect(endpointOf(target, own?.socket ?? ""), {
    clientName: "exec-server-cli",
    ...("token" in target ? defined({ token: target.token }) : {}),
    connectTimeoutMs: DEADLINE_MS,
    initializeTimeoutMs: DEADLINE_MS,
    answerTimeoutMs: DEADLINE_MS,
  });
}

function endpointOf(target: Exclude<Target, { kind: "program" }>, ownSocket: string): string | FleetTarget {
  switch (target.kind) {
    case "own":
      return socketUrl(ownSocket);
    case "url":
      return target.url;
    case "executor":
      return { fleet: target.fleet.address, id: target.id };
  }
}
