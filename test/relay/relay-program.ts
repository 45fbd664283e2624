import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Host } from "../../src/client/index.ts";
import { launch, type ServerKind, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil } from "../fault/deadline.ts";
import { freePort } from "../fixtures/free-port.ts";
import { relayReach } from "../../src/relay/reach.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { LegProxy } from "./leg-proxy.ts";

const DEADLINE_MS = 30_000;
/** The token of executors. Without a table, the relay admits anyone on this machine, whatever they say. */
const MACHINES = "machines";

interface RelayOptions {
  /** Keeps everything that passes. */
  readonly captures?: boolean;
  /** Tokens of clients, which are also their names. Default: anyone may do anything. */
  readonly clients?: readonly string[];
}

interface ExecutorOptions {
  /** Where it registers, if that is not the relay's own address. */
  readonly base?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

/** The relay as a program of its own, behind a proxy that can disturb each leg. */
export class RelayProgram implements AsyncDisposable {
  static async start({ captures = false, clients = [] }: RelayOptions = {}): Promise<RelayProgram> {
    const port = await freePort();
    const proxy = await LegProxy.open(port, { captures });
    const relay = new RelayProgram(port, proxy, await mkdtemp(join(tmpdir(), "relay-")));
    if (clients.length > 0) await relay.#requireTokens(clients);
    await relay.#launch();
    return relay;
  }

  readonly proxy: LegProxy;
  readonly #port: number;
  readonly #directory: string;
  #tokens: readonly string[] = [];
  readonly #executors: ServerProcess[] = [];
  #program!: ServerProcess;

  private constructor(port: number, proxy: LegProxy, directory: string) {
    this.#port = port;
    this.#directory = directory;
    this.proxy = proxy;
  }

  /** Where executors and clients find it. */
  get base(): string {
    return this.proxy.base;
  }

  get pid(): number {
    return this.#program.child.pid!;
  }

  async start(): Promise<void> {
    await this.#launch();
    await this.proxy.listen();
  }

  async #requireTokens(clients: readonly string[]): Promise<void> {
    const entry = (name: string, may: string): string => {
      const sha256 = createHash("sha256").update(name).digest("hex");
      return `[[token]]\nname = "${name}"\nsha256 = "${sha256}"\nmay = ["${may}"]\nenvironments = ["*"]\n`;
    };
    const path = join(this.#directory, "relay.toml");
    const table = [entry(MACHINES, "register"), ...clients.map((name) => entry(name, "connect"))].join("");
    await writeFile(path, table, { mode: 0o600 });
    this.#tokens = ["--tokens", path];
  }

  async #launch(): Promise<void> {
    const listen = `http://127.0.0.1:${this.#port}`;
    const args = ["relay", "--listen", listen, "--public-url", this.base, ...this.#tokens];
    this.#program = await launch("ours", args);
    await this.#program.banner();
  }

  /** Ends it at once; its state is lost. */
  kill(): Promise<void> {
    this.proxy.refuse();
    return this.#program.stop("SIGKILL");
  }

  /** Ends it in the same way, and starts it again, while whoever comes has to wait. */
  async replace(): Promise<void> {
    this.proxy.hold();
    await this.#program.stop("SIGKILL");
    await this.#launch();
    this.proxy.release();
  }

  /** Starts an executor, and waits until clients can reach it. */
  async executor(
    kind: ServerKind,
    environmentId: string,
    { base = this.base, args = [], env = {} }: ExecutorOptions = {},
  ): Promise<ServerProcess> {
    const executor = await launch(kind, ["--remote", base, "--environment-id", environmentId, ...args], {
      env: { CODEX_API_KEY: MACHINES, ...env },
    });
    this.#executors.push(executor);
    await pollUntil(
      () => this.isOnline(environmentId),
      DEADLINE_MS,
      () => `executor ${environmentId}: ${executor.stderr}`,
    );
    return executor;
  }

  async isOnline(environmentId: string): Promise<boolean> {
    const headers = { authorization: `Bearer ${MACHINES}` };
    const response = await fetch(`${this.base}/environments`, { headers });
    const environments = (await response.json()) as { environmentId: string; isOnline: boolean }[];
    return environments.some((each) => each.environmentId === environmentId && each.isOnline);
  }

  connect(environmentId: string, token?: string): Promise<Host> {
    return connect({ relay: this.base, environmentId }, token === undefined ? {} : { token });
  }

  /** Opens streams to an executor, below sessions. */
  async reach(environmentId: string): Promise<() => Promise<Transport>> {
    const open = await relayReach({ relay: this.base, environmentId, timeoutMs: DEADLINE_MS });
    return () => open(new AbortController().signal);
  }

  /** What the real client needs in its environment. */
  clientVariables(environmentId: string): Record<string, string> {
    return {
      CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: this.base,
      CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: environmentId,
      CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: MACHINES,
      CODEX_EXEC_SERVER_NOISE_CHATGPT_ACCOUNT_ID: "nobody",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.stop("SIGKILL")));
    await this.kill();
    await this.proxy[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }
}
