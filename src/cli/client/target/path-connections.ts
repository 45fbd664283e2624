import type { Host } from "../../../client/host/host.ts";
import { type Connected, connectTarget } from "./connect-target.ts";
import { optionsFor, type RemotePath } from "./remote-path.ts";
import type { TargetOptions } from "./target-options.ts";

/** The connections of one command to the servers of its paths: one for each host. */
export class PathConnections {
  readonly #options: TargetOptions;
  readonly #connections = new Map<string | undefined, Connected>();

  constructor(options: TargetOptions) {
    this.#options = options;
  }

  async open(path: RemotePath): Promise<Connected> {
    const connected =
      this.#connections.get(path.host) ?? (await connectTarget(optionsFor(path, this.#options)));
    this.#connections.set(path.host, connected);
    return connected;
  }

  get hosts(): readonly Host[] {
    return [...this.#connections.values()].map(({ host }) => host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.close()));
  }
}
