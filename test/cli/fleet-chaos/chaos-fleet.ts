import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Fleet, openFleet } from "../../../src/client/index.ts";
import { type RunningCommand, startCommand } from "../command.ts";
import { type NatsCluster, startNatsCluster } from "../../fixtures/nats-cluster.ts";
import { Relay } from "../../fixtures/relay.ts";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";

/** An executor as a separate program, behind its own relay. */
export interface ChaosExecutor {
  readonly id: string;
  readonly relay: Relay;
  command: RunningCommand;
}

/** Executors, three nodes of NATS, and a home whose hosts.toml knows them. */
export class ChaosFleet implements AsyncDisposable {
  readonly directory: string;
  readonly cluster: NatsCluster;
  readonly executors: ChaosExecutor[] = [];

  private constructor(directory: string, cluster: NatsCluster) {
    this.directory = directory;
    this.cluster = cluster;
  }

  static async open(directory: string, count: number): Promise<ChaosFleet> {
    const fleet = new ChaosFleet(directory, await startNatsCluster(3));
    const config = join(directory, ".config/exec-server");
    mkdirSync(config, { recursive: true });
    writeFileSync(
      join(config, "hosts.toml"),
      `[fleets.chaos]\nservers = ${JSON.stringify(fleet.#urls)}\nauth_bearer_token = "${TOKEN}"\n`,
      { mode: 0o600 },
    );
    const ports = fleet.cluster.nodes.map(({ port }) => port);
    for (let number = 0; number < count; number += 1) {
      const id = `machine-${number}`;
      const relay = await Relay.open(ports, number);
      fleet.executors.push({ id, relay, command: fleet.#start(id, relay) });
    }
    await Promise.all(fleet.executors.map(({ id, command }) => command.shows(`fleet:${id}\n`)));
    return fleet;
  }

  get #urls(): string[] {
    return this.cluster.nodes.map(({ url }) => url);
  }

  enter(): Promise<Fleet> {
    return openFleet({ servers: this.#urls }, { token: TOKEN });
  }

  /** Ends an executor at once, with everything that it runs. */
  async kill(executor: ChaosExecutor): Promise<void> {
    executor.command.child.kill("SIGKILL");
    await executor.command.ended();
  }

  restart(executor: ChaosExecutor): void {
    executor.command = this.#start(executor.id, executor.relay);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.executors.map((executor) => this.kill(executor)));
    await Promise.all(this.executors.map(({ relay }) => relay[Symbol.asyncDispose]()));
    await this.cluster[Symbol.asyncDispose]();
  }

  #start(id: string, relay: Relay): RunningCommand {
    const fleet = ["--fleet", `nats://127.0.0.1:${relay.port}`, "--id", id, "--slots", "3"];
    const access = ["--ws-auth", "capability-token", "--ws-token-sha256", this.#tokenHash];
    return startCommand(["serve", "--listen", "none", ...fleet, ...access, "--log-level", "error"], {
      env: { HOME: this.directory, MACHINE: id },
      cwd: this.directory,
    });
  }

  get #tokenHash(): string {
    return createHash("sha256").update(TOKEN).digest("hex");
  }
}
