import { ConnectionError } from "../../../base/errors.ts";
import type { Host } from "../../../client/host/host.ts";
import { Failure, oneLine } from "../outcome/failure.ts";
import { type Connected, connectTarget } from "../target/connect-target.ts";
import { isRemotePath, optionsFor, parseRemotePath } from "../target/remote-path.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { type CopyLocation, localLocation, remoteLocation } from "./copy-location.ts";

/** The locations of one command, and the connections to their servers: one for each host. */
export class ConnectedLocations {
  readonly #options: TargetOptions;
  readonly #connections = new Map<string | undefined, Connected>();

  constructor(options: TargetOptions) {
    this.#options = options;
  }

  async open(text: string): Promise<CopyLocation> {
    if (!isRemotePath(text)) return localLocation(text);
    const path = parseRemotePath(text);
    const connected =
      this.#connections.get(path.host) ?? (await connectTarget(optionsFor(path, this.#options)));
    this.#connections.set(path.host, connected);
    return remoteLocation(text, path, connected);
  }

  get hosts(): readonly Host[] {
    return [...this.#connections.values()].map(({ host }) => host);
  }

  /** An error as the user sees it: after a lost connection, with what to do. */
  failure(error: unknown, remedy: string): unknown {
    if (error instanceof ConnectionError && this.#connections.size > 0 && error.code !== "UNAUTHORIZED")
      return new Failure(`${oneLine(error.message)}; ${remedy}`);
    return error;
  }

  async close(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.close()));
  }
}
