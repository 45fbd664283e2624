import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, type ServerKind, type ServerProcess } from "../conformance/server-process.ts";
import { awaitNoneLeft } from "../fault/marked-processes.ts";
import { type CodexExit, type Environment, runCodex } from "./codex-run.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { MockModel, type Review, type Step } from "./mock-model.ts";

/** E2E_SERVER=codex puts the real server in this one's place, to see whether the tests ask for what it can give. */
export const serverKind: ServerKind = chosenServer(process.env["E2E_SERVER"] ?? "ours");

function chosenServer(name: string): ServerKind {
  if (name === "ours" || name === "codex") return name;
  throw new Error(`E2E_SERVER is ours or codex, not ${name}`);
}

export interface RunOptions {
  readonly environment?: Environment;
  readonly model?: string;
  readonly config?: string;
  readonly sandbox?: "read-only" | "workspace-write";
  /** The answer to every request for more rights than the sandbox `workspace-write` gives. */
  readonly review?: Review;
}

export interface Run {
  readonly exit: CodexExit;
  readonly model: MockModel;
  /** The client's messages to the model about each step, in order. */
  readonly outputs: readonly string[];
}

/** A directory to work in, an exec-server, and the proxy through which the client reaches it. */
export class Workspace implements AsyncDisposable {
  /** `env` is added to the environment of the server. */
  static async open(
    options: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Workspace> {
    const id = `e2e-${randomUUID()}`;
    const args = ["--listen", "ws://127.0.0.1:0", ...options];
    const server = await launch(serverKind, args, { env: { ...env, E2E_MARKER: `${id}-server` } });
    try {
      const proxy = await CuttingProxy.open(await server.banner());
      // Not under the system's temporary directory: the client behaves differently when its home is there.
      const root = await mkdtemp("/var/tmp/exec-server-e2e-");
      const command = server.child.spawnargs.slice(0, -args.length);
      const workspace = new Workspace({ id, root, server, command, proxy });
      await Promise.all([workspace.dir, workspace.#clientHome].map((path) => mkdir(path)));
      return workspace;
    } catch (error) {
      await server.stop("SIGKILL");
      throw error;
    }
  }

  readonly dir: string;
  readonly proxy: CuttingProxy;
  /** How the server under test is started, short of its options. */
  readonly serverCommand: readonly string[];
  readonly #id: string;
  readonly #root: string;
  readonly #clientHome: string;
  readonly #server: ServerProcess;

  private constructor(parts: {
    id: string;
    root: string;
    server: ServerProcess;
    command: readonly string[];
    proxy: CuttingProxy;
  }) {
    this.#id = parts.id;
    this.#root = parts.root;
    this.dir = join(parts.root, "work");
    this.#clientHome = join(parts.root, "client");
    this.#server = parts.server;
    this.serverCommand = parts.command;
    this.proxy = parts.proxy;
  }

  /** E2E_MARKER in the server's environment, and not in the client's: who can print it was started by the server. */
  get serverMarker(): string {
    return `${this.#id}-server`;
  }

  /** The same for a server that the client starts itself. */
  get ownServerMarker(): string {
    return `${this.#id}-own-server`;
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  /** As paths are spelled on the wire. */
  uri(name: string): string {
    return pathToFileURL(this.path(name)).href;
  }

  async write(name: string, content: string | Buffer): Promise<void> {
    await mkdir(dirname(this.path(name)), { recursive: true });
    await writeFile(this.path(name), content);
  }

  read(name: string): Promise<string> {
    return readFile(this.path(name), "utf8");
  }

  /** Lets the client play `steps` to the end; once for each workspace. */
  async run(steps: readonly Step[], options: RunOptions = {}): Promise<Run> {
    const { environment = { url: this.proxy.url }, review, ...rest } = options;
    await using model = await MockModel.start(steps, review);
    const exit = await runCodex({
      home: this.#clientHome,
      workspace: this.dir,
      modelOrigin: model.origin,
      environment,
      env: { E2E_CLIENT: `${this.#id}-client` },
      reviewed: review !== undefined,
      ...rest,
    });
    try {
      model.assertPlayed();
    } catch (error) {
      throw new Error(`the run went wrong; codex exec said: ${exit.stderr}`, { cause: error });
    }
    if (exit.code !== 0) throw new Error(`codex exec ended with ${exit.code}: ${exit.stderr}`);
    return { exit, model, outputs: model.outputs.map(({ text }) => text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]();
    await this.#server.stop();
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
    await awaitNoneLeft(this.#id);
  }
}
