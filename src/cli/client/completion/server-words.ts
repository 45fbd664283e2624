import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { socketUrl } from "../../../base/socket-url.ts";
import { connect, type FleetTarget } from "../../../client/host/connect.ts";
import type { Executor } from "../../../client/host/executor.ts";
import type { Host } from "../../../client/host/host.ts";
import { findFleet } from "../target/hosts/find-fleet.ts";
import { namesOf } from "../kept/kept-name.ts";
import { ownServerPaths } from "../target/own-server/own-server-paths.ts";
import { absolutePath, optionsFor, type RemotePath, localDirectory } from "../target/remote-path.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import type { Target } from "../target/target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import type { PathName } from "./complete-path.ts";

/** Answers while somebody waits with a finger on the Tab key. */
export class ServerWords {
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Names of kept processes. */
  async kept(options: TargetOptions): Promise<readonly string[]> {
    await using host = await this.#connect(await resolveTarget(options));
    const processes = (await host?.processes({ scope: "kept" })) ?? [];
    return namesOf(processes);
  }

  /** Names of the executors of a fleet. */
  async executors(name: string): Promise<readonly string[]> {
    return (await this.#members(name)).map(({ id }) => id);
  }

  /** Labels of the executors of a fleet, or of the only one. */
  async labels(name: string | undefined): Promise<readonly string[]> {
    const members = await this.#members(name);
    const labels = members.flatMap((executor) => Object.entries(executor.labels));
    return [...new Set(labels.map(([key, value]) => `${key}=${value}`))].sort();
  }

  async #members(name: string | undefined): Promise<readonly Executor[]> {
    const { openFleet } = await import("../../../client/host/fleet.ts");
    await using fleet = await openFleet(findFleet(name).address, { connectTimeoutMs: this.#timeoutMs });
    return fleet.list();
  }

  /** Whether these options mean this machine. */
  async isHere(options: TargetOptions): Promise<boolean> {
    return (await resolveTarget(options)).kind === "own";
  }

  /** What is in a directory. */
  async list(directory: RemotePath, options: TargetOptions): Promise<readonly PathName[]> {
    const target = await resolveTarget(optionsFor(directory, options));
    // One's own server sees what this program sees, and need not run for it.
    if (target.kind === "own") return await listHere(resolve(localDirectory(), directory.path));
    await using host = await this.#connect(target);
    if (host === undefined) return [];
    const entries = await host.files.list(absolutePath({ host, isOwn: false }, directory));
    return entries.map(({ name, kind }) => ({ name, isDirectory: kind === "directory" }));
  }

  /** Only to a server that runs: a program such as ssh could ask questions, and would take too long. */
  async #connect(target: Target): Promise<Host | undefined> {
    if (target.kind === "program") return undefined;
    const own = target.kind === "own" ? ownServerPaths() : undefined;
    if (own?.exists === false) return undefined;
    return await connect(endpointOf(target, own?.socket ?? ""), {
      clientName: "exec-server-cli",
      ...("token" in target ? { token: target.token } : {}),
      connectTimeoutMs: this.#timeoutMs,
      initializeTimeoutMs: this.#timeoutMs,
      answerTimeoutMs: this.#timeoutMs,
    });
  }
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

async function listHere(directory: string): Promise<readonly PathName[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return await Promise.all(
    entries.map(async (entry) => ({
      name: entry.name,
      isDirectory: entry.isSymbolicLink()
        ? await stat(join(directory, entry.name)).then(
            (target) => target.isDirectory(),
            () => false,
          )
        : entry.isDirectory(),
    })),
  );
}
