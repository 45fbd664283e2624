import { execFileSync } from "node:child_process";
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { collect, untilOutput } from "../conformance/process-events.ts";
import { openWebSocketPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { launch, SERVER_PATH, type ServerKind, type ServerProcess } from "../conformance/server-process.ts";
import { start } from "../conformance/verifies.ts";
import { pollUntil } from "../fault/deadline.ts";
import { awaitNoneLeft } from "../fault/marked-processes.ts";
import type { Attempt, ProcessStep } from "./attempt.ts";
import { installShim } from "./bwrap-shim.ts";
import { Listeners } from "./listeners.ts";
import { Place } from "./place.ts";
import { callFiles, expanded, LEAK, networkOf, STEP_DEADLINE_MS, type StepEnd } from "./steps.ts";
import { prelude } from "./syscalls.ts";
import { TINY_PROGRAMS } from "./tiny-programs.ts";
import { Victim } from "./victim.ts";

const PROOF_DEADLINE_MS = 20_000;

type ServerName = "tcp" | "token" | "unix";

export interface Outcome {
  readonly escaped: boolean;
  /** Looks for the proof again: an effect may come late. */
  readonly hasEscapedSince: () => boolean;
  /** Whether it ran at all. */
  readonly begun: boolean;
  /** What the attempt printed. */
  readonly output: string;
}

/** The end of the last step, with the output of all. */
interface Ended extends StepEnd {
  readonly without: string;
}

export interface WorldOptions {
  readonly kind: ServerKind;
  readonly sandboxed: boolean;
}

/** A server, what it must not reach, and attempts that try. */
export class World implements AsyncDisposable {
  static async open(options: WorldOptions): Promise<World> {
    const world = new World(options, await mkdtemp("/var/tmp/exec-server-escape-"));
    try {
      await world.#prepare();
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  readonly #options: WorldOptions;
  readonly #root: string;
  readonly #secret = randomBytes(16).toString("hex");
  /** An unused number, so seeing it means having seen the owner of a file. */
  readonly #owner = randomInt(1_000_000, 2_000_000_000);
  readonly #listeners = new Listeners();
  readonly #servers = new Map<ServerName, { server: ServerProcess; peer: RawPeer; port: string }>();
  readonly #places: Place[] = [];
  #victim: Victim | undefined;
  #terminal = "";
  #variables: Record<string, string> = {};

  private constructor(options: WorldOptions, root: string) {
    this.#options = options;
    this.#root = root;
  }

  /** Tries to escape. `without` names a protection to leave out: see `PROTECTIONS`. */
  async run(attempt: Attempt, without = "nothing"): Promise<Outcome> {
    const place = await this.#place(without);
    const server = this.#servers.get(attempt.server ?? "tcp");
    if (server === undefined) throw new Error(`no server of the kind ${attempt.server}`);
    const variables = {
      ...this.#variables,
      ...place.variables,
      SERVER: String(server.server.child.pid),
      SERVER_PORT: server.port,
      // Without a sandbox a race is won for certain, in the end.
      RACE_SECONDS: this.#options.sandboxed ? "1" : "90",
      ...(JSON.stringify(attempt.steps).includes("SECRET_HANDLE") && { SECRET_HANDLE: place.secretHandle }),
    };
    const env = { ...variables, ...expanded(attempt.env, variables) };
    let output = "";
    let succeeded = false;
    for (const [index, step] of attempt.steps.entries()) {
      if ("outside" in step) {
        execFileSync("/bin/sh", ["-c", step.outside], { env });
        continue;
      }
      const sandbox = this.#options.sandboxed ? { sandbox: place.sandbox(attempt) } : {};
      const ended =
        "method" in step
          ? await callFiles(server.peer, step, { env, sandbox })
          : await this.#runProcess(server.peer, step, attempt, place, {
              id: `${place.id}-${index}`,
              params: { env, ...sandbox, ...(this.#options.sandboxed && networkOf(attempt)) },
            });
      output += ended.output;
      ({ succeeded } = ended);
    }
    const begun = existsSync(join(place.work, "begun"));
    return { ...(await this.#prove(attempt, place, { output, succeeded, without })), begun, output };
  }

  async #runProcess(
    peer: RawPeer,
    step: ProcessStep,
    attempt: Attempt,
    place: Place,
    { id, params }: { id: string; params: object },
  ): Promise<StepEnd> {
    const request = start(id, this.#argv(step, attempt, place), {
      cwd: pathToFileURL(place.work).href,
      tty: attempt.tty ?? false,
      ...params,
    });
    await peer.request("process/start", request, { timeoutMs: STEP_DEADLINE_MS });
    const { stdout, stderr, pty, exitCode } = await collect(peer, id, STEP_DEADLINE_MS);
    return { output: Buffer.concat([stdout, stderr, pty]).toString(), succeeded: exitCode === 0 };
  }

  /** Looks for the proof. Where the attempt should have succeeded, the effect may need a moment. */
  async #prove(
    attempt: Attempt,
    place: Place,
    ended: Ended,
  ): Promise<Pick<Outcome, "escaped" | "hasEscapedSince">> {
    const hasEscapedSince = this.#proofOf(attempt, place, ended.output);
    if (attempt.proof === "survival") {
      writeFileSync(join(place.work, "over"), "");
      // Surviving processes see it.
      await awaitNoneLeft(place.id, [], PROOF_DEADLINE_MS).catch(() => {});
    }
    const mustEscape = ended.succeeded && !(this.#options.sandboxed && ended.without === "nothing");
    const escaped = mustEscape
      ? await pollUntil(hasEscapedSince, PROOF_DEADLINE_MS, () => "an effect").catch(() => false)
      : hasEscapedSince();
    return { escaped, hasEscapedSince };
  }

  #proofOf(attempt: Attempt, place: Place, output: string): () => boolean {
    const proofs = {
      secret: () => output.includes(this.#secret) || output.includes(`owner-${this.#owner}`),
      claim: () => output.includes("ESCAPED"),
      change: () => place.isChanged,
      message: () => this.#received.includes(attempt.message ?? place.id),
      survival: () => existsSync(join(place.work, "survived")),
    };
    return proofs[attempt.proof];
  }

  get #received(): string {
    const terminal = this.#servers.get("tcp")?.peer.notifications ?? [];
    return [
      this.#listeners.received,
      ...(this.#victim?.received ?? []),
      ...terminal
        .filter(({ params }) => params?.processId === "terminal" && params.chunk !== undefined)
        .map(({ params }) => Buffer.from(params.chunk, "base64").toString()),
    ].join("\n");
  }

  #argv(step: ProcessStep, attempt: Attempt, place: Place): readonly string[] {
    const argv =
      "argv" in step
        ? step.argv
        : "sh" in step
          ? ["/bin/sh", "-c", `: > $WORK/begun; ${step.sh}`]
          : ["perl", "-e", prelude + step.perl];
    if (attempt.class !== "inherited descriptors" || this.#options.sandboxed) return argv;
    return ["perl", "-e", LEAK, place.secrets, ...argv];
  }

  async #place(without: string): Promise<Place> {
    const id = `escape-${this.#places.length}-${randomUUID().slice(0, 8)}`;
    const place = new Place(join(this.#root, "places", without, id), id);
    this.#places.push(place);
    await place.create(this.#secret);
    return place;
  }

  async #prepare(): Promise<void> {
    const { kind, sandboxed } = this.#options;
    const inside = (name: string) => join(this.#root, name);
    for (const name of ["programs", "sockets", "server", "shim"]) mkdirSync(inside(name));
    for (const [name, bytes] of Object.entries(TINY_PROGRAMS))
      writeFileSync(inside(`programs/${name}`), bytes, { mode: 0o755 });
    writeFileSync(inside("locked"), this.#secret, { mode: 0o000 });
    writeFileSync(inside("owned"), "");
    chownSync(inside("owned"), this.#owner, this.#owner);
    copyFileSync("/usr/bin/id", inside("programs/id"));
    chownSync(inside("programs/id"), this.#owner, this.#owner);
    chmodSync(inside("programs/id"), 0o4755);
    writeFileSync(inside("server/token"), `${this.#secret}\n`, { mode: 0o600 });
    const path = sandboxed && kind === "ours" ? `${installShim(inside("shim"))}:${SERVER_PATH}` : SERVER_PATH;
    await this.#startServers({ PATH: path, SERVER_SECRET: this.#secret });

    const abstractSocket = `exec-server-escape-${this.#secret}`;
    const stream = inside("sockets/stream");
    await this.#listeners.unix(stream);
    await this.#listeners.unix(`\0${abstractSocket}`);
    const [tcp4, tcp6, udp4, udp6] = await Promise.all([
      this.#listeners.tcp("0.0.0.0"),
      this.#listeners.tcp("::1"),
      this.#listeners.udp("udp4", "127.0.0.1"),
      this.#listeners.udp("udp6", "::1"),
    ]);
    const shared = {
      PATH: SERVER_PATH,
      SHM_KEY: String(randomInt(1, 0x7fff_ffff)),
      QUEUE: `exec-server-escape-${randomUUID()}`,
      DATAGRAM_SOCKET: inside("sockets/datagram"),
    };
    const victimPlace = await this.#place("nothing");
    const victim = await Victim.start(victimPlace.secrets, this.#secret, {
      ...shared,
      ...victimPlace.variables,
    });
    this.#victim = victim;
    this.#variables = {
      ...shared,
      PROGRAMS: inside("programs"),
      SETUID_PROGRAM: inside("programs/id"),
      LOCKED_FILE: inside("locked"),
      OWNED_FILE: inside("owned"),
      TOKEN_FILE: inside("server/token"),
      SERVER_SOCKET: inside("server/socket"),
      STREAM_SOCKET: stream,
      ABSTRACT_SOCKET: abstractSocket,
      TCP4_PORT: String(tcp4),
      TCP6_PORT: String(tcp6),
      UDP4_PORT: String(udp4),
      UDP6_PORT: String(udp6),
      VICTIM: String(victim.pid),
      VICTIM_ADDRESS: victim.address,
      KEY: victim.key,
      VICTIM_TTY: await this.#startTerminal(),
    };
  }

  async #startServers(env: Record<string, string>): Promise<void> {
    const ours = this.#options.kind === "ours";
    const socket = join(this.#root, "server/socket");
    const token = join(this.#root, "server/token");
    const listen: Partial<Record<ServerName, readonly string[]>> = {
      tcp: ["--listen", "ws://127.0.0.1:0"],
      token: ["--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", token],
      ...(ours && { unix: ["--listen", `unix://${socket}`] }),
    };
    await Promise.all(
      Object.entries(listen).map(async ([name, args]) => {
        const server = await launch(this.#options.kind, args, { env });
        const url = await server.banner();
        const peer = await openWebSocketPeer(name === "unix" ? `ws+unix://${socket}:/` : url, {
          Authorization: `Bearer ${this.#secret}`,
        });
        await peer.handshake();
        const port = name === "unix" ? "0" : new URL(url).port;
        this.#servers.set(name as ServerName, { server, peer, port });
      }),
    );
  }

  /** A process with a terminal that belongs to someone else. Returns the name of the terminal. */
  async #startTerminal(): Promise<string> {
    const peer = this.#servers.get("tcp")?.peer;
    if (peer === undefined) throw new Error("the server does not run");
    await peer.request(
      "process/start",
      start("terminal", ["/bin/sh", "-c", "tty; exec sleep 1000"], { tty: true }),
    );
    this.#terminal = (await untilOutput(peer, "terminal", /\/dev\/pts\/\d+\r\n/)).trim();
    return this.#terminal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { server, peer } of this.#servers.values()) {
      peer.drop();
      await server.stop();
    }
    await this.#victim?.[Symbol.asyncDispose]();
    await this.#listeners[Symbol.asyncDispose]();
    for (const { sharedMemory } of this.#places) rmSync(sharedMemory, { force: true });
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}
