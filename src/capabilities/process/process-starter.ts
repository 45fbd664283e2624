import { closeSync, writeSync } from "node:fs";
import { userInfo } from "node:os";
import { CapabilityError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import { shorten } from "../../base/shorten.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { descriptorReserve } from "../../native/descriptor-reserve.ts";
import { MAX_ASYNC_CALLS } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { writePipe, writeTerminal } from "./input-writer.ts";
import { ContainedFamily } from "./ending/contained-family.ts";
import type { ControlGroup } from "../../native/control-group.ts";
import { ControlGroups } from "./ending/control-groups.ts";
import { gated } from "./gated-program.ts";
import { applyLimits, checkLimits, type ResourceLimits } from "../../native/resource-limits.ts";
import { type LogLimits, ManagedProcess, type ProcessOptions, type ProcessParts } from "./managed-process.ts";
import { lookForEndsOfPipes, readPipe, readTerminal } from "./output/output-source.ts";
import type { ProcessFamily } from "./ending/process-family.ts";
import { TracedFamily } from "./ending/traced-family.ts";
import { type ProcessGroup, ProcessGroups } from "./ending/process-groups.ts";
import { findProgram, findTerminalProgram } from "./program-lookup.ts";
import { Reaper } from "../../native/reaper.ts";
import { SharedDescriptor } from "../../native/shared-descriptor.ts";
import {
  withholdInheritedDescriptors,
  openPipe,
  type Program,
  refuseTooLong,
  spawnListener,
  spawnOnPipes,
  spawnOnTerminal,
  type TerminalSize,
} from "../../native/spawn.ts";
import { spawnFailed } from "./spawn-failure.ts";
import { Sweeper } from "./ending/sweeper.ts";
import { Warden, type WardenRecord } from "./ending/warden.ts";

export interface StartRequest extends ProcessOptions {
  readonly argv: readonly string[];
  /** Name that the program sees instead of `argv[0]`. */
  readonly arg0?: string;
  /** Absolute; bytes if it is not UTF-8. */
  readonly cwd: string | Uint8Array;
  readonly env: ReadonlyMap<string, string>;
  readonly stdin: "none" | "pipe" | { readonly terminal: TerminalSize };
  readonly limits?: ResourceLimits;
  /** Keeps everything that the process starts in a control group, which nothing can leave. */
  readonly contain?: boolean;
}

/** Maximum number of concurrent starts. Each uses descriptors and a thread of Node's pool. */
const MAX_CONCURRENT_STARTS = MAX_ASYNC_CALLS;

/** Starts processes, and makes sure that none is forgotten. */
export class ProcessStarter {
  readonly #limits: LogLimits;
  readonly #logger: Logger;
  readonly #reaper = new Reaper();
  readonly #warden: Warden;
  readonly #groups = new ProcessGroups();
  readonly #sweeper = new Sweeper((pid) => this.#groups.has(pid));
  readonly #controlGroups = new ControlGroups((home) => this.#warden.guardControlGroup(home));
  readonly #waiting = new Fifo<() => void>();
  readonly #running = new Set<ManagedProcess>();
  #starting = 0;
  #prepared = false;

  constructor(limits: LogLimits, logger: Logger = silentLogger) {
    this.#logger = logger;
    this.#limits = limits;
    this.#warden = new Warden({ start: startShell, reaper: this.#reaper, logger });
    // Before connections and files can take them. Without them nothing is started.
    descriptorReserve.fill();
  }

  /** Rejects with a CapabilityError if the program or directory does not exist, or the system refuses. */
  async start(request: StartRequest): Promise<ManagedProcess> {
    const program = await this.#resolve(request);
    await this.#takeTurn();
    try {
      if (request.limits === undefined && request.contain !== true)
        return await this.#spawn(program, request);
      return await this.#startGated(program, request);
    } finally {
      this.#giveTurn();
    }
  }

  /** Sends SIGTERM to everything that runs. Resolves when it has ended, or after the deadline. */
  async terminateAll(deadlineMs: number): Promise<void> {
    for (const process of this.#running) process.askToEnd("server");
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs);
      const look = (): void => {
        if (this.#running.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      for (const process of this.#running)
        process.listen((event) => {
          if (event.kind === "closed") look();
        });
      look();
    });
  }

  /** Kills everything ever started here that stayed in its process group, or is contained. */
  killAll(): void {
    this.#groups.killAll();
    this.#controlGroups.killAll();
  }

  /** Resolves when nothing can be found any more of the killed families. */
  async swept(): Promise<void> {
    await Promise.all([this.#sweeper.idle(), this.#controlGroups.emptied()]);
  }

  /** Throws a CapabilityError if so few descriptors are left that a started process could not be ended reliably. */
  #prepare(): void {
    if (!descriptorReserve.fill()) throw osError(ERRNO.EMFILE);
    if (this.#prepared) return;
    withholdInheritedDescriptors();
    this.#reaper.listen();
    this.#prepared = true;
  }

  async #resolve(request: StartRequest): Promise<Program> {
    try {
      this.#prepare();
      return await resolveProgram(request);
    } catch (error) {
      throw await spawnFailed(error, request.cwd);
    }
  }

  async #takeTurn(): Promise<void> {
    this.#starting += 1;
    if (this.#starting > MAX_CONCURRENT_STARTS)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #giveTurn(): void {
    this.#starting -= 1;
    this.#waiting.shift()?.();
    lookForEndsOfPipes();
  }

  /** A shell waits at the gate until everything is set, then becomes the program. */
  async #startGated(program: Program, request: StartRequest): Promise<ManagedProcess> {
    const { limits } = request;
    checkGated(request);
    const controlGroup = request.contain === true ? this.#controlGroups.create() : undefined;
    const gate = openPipe();
    try {
      const managed = await this.#spawn(gated(program, request.env, gate.readEnd), request, controlGroup);
      try {
        if (controlGroup !== undefined) await this.#controlGroups.join(controlGroup, managed.pid);
        if (limits !== undefined) applyLimits(managed.pid, limits);
      } catch (error) {
        managed.dispose();
        throw error;
      }
      writeSync(gate.writeEnd, "\n");
      return managed;
    } catch (error) {
      if (controlGroup !== undefined) this.#controlGroups.release(controlGroup);
      throw error;
    } finally {
      closeSync(gate.readEnd);
      closeSync(gate.writeEnd);
    }
  }

  async #spawn(
    program: Program,
    request: StartRequest,
    controlGroup?: ControlGroup,
  ): Promise<ManagedProcess> {
    const { stdin } = request;
    const record = this.#warden.reserve();
    let started: StartedParts;
    try {
      started = await (typeof stdin === "object"
        ? startOnTerminal(program, stdin.terminal, record)
        : startOnPipes(program, stdin === "pipe", record));
    } catch (error) {
      record.release();
      throw await spawnFailed(error, request.cwd);
    }
    return this.#manage(started, this.#groups.track(started.pid, record), request, controlGroup);
  }

  #manage(
    { pid, ...streams }: StartedParts,
    group: ProcessGroup,
    request: StartRequest,
    controlGroup: ControlGroup | undefined,
  ): ManagedProcess {
    let managed: ManagedProcess;
    try {
      const family = this.#family(pid, group, controlGroup);
      const program = shorten(request.argv[0] ?? "");
      const evicted = (): void =>
        this.#logger.warn("output of a process was evicted to retain newer output", { pid, program });
      managed = new ManagedProcess({ pid, family, ...streams }, this.#limits, { ...request, evicted });
    } catch (error) {
      // It runs, and nobody would ever end it.
      group.signal("SIGKILL");
      this.#reaper.watchInBackground(pid, () => group.leaderReaped());
      throw error;
    }
    this.#running.add(managed);
    managed.listen((event) => {
      if (event.kind === "closed") this.#running.delete(managed);
    });
    this.#reaper.watch(pid, (status) => managed.exited(status));
    return managed;
  }

  #family(pid: number, group: ProcessGroup, controlGroup: ControlGroup | undefined): ProcessFamily {
    return controlGroup === undefined
      ? new TracedFamily(pid, { group, sweeper: this.#sweeper })
      : new ContainedFamily(group, controlGroup, this.#controlGroups);
  }
}

type StartedParts = Omit<ProcessParts, "family">;

async function startOnTerminal(
  program: Program,
  size: TerminalSize,
  record: WardenRecord,
): Promise<StartedParts> {
  const { pid, ...master } = await spawnOnTerminal(program, size, (link) => record.starting(link));
  record.started(pid, "terminal");
  const terminal = writeTerminal(master.input, size);
  const outputRest = new SharedDescriptor(master.outputRest);
  return {
    pid,
    input: terminal,
    terminal,
    outputs: [
      {
        stream: "pty",
        end: { master: outputRest, kind: "terminal" },
        open: (sink) => readTerminal(master.output, outputRest, sink),
      },
    ],
  };
}

async function startOnPipes(
  program: Program,
  pipeStdin: boolean,
  record: WardenRecord,
): Promise<StartedParts> {
  const { pid, ...pipes } = await spawnOnPipes(program, { stdin: pipeStdin }, (link) =>
    record.starting(link),
  );
  record.started(pid, "pipes");
  return {
    pid,
    input: pipes.stdin === undefined ? undefined : writePipe(pipes.stdin),
    outputs: (["stdout", "stderr"] as const).map((stream) => ({
      stream,
      end: { fd: pipes[stream], kind: "pipe" },
      open: (sink) => readPipe(pipes[stream], sink),
    })),
  };
}

/** Throws a CapabilityError for what a shell at the gate cannot do. */
function checkGated({ arg0, limits }: StartRequest): void {
  if (arg0 !== undefined)
    throw new CapabilityError(
      "INVALID_INPUT",
      `${limits === undefined ? "contain" : "limits"} cannot be set for a program that is given another name`,
    );
  if (limits !== undefined) checkLimits(limits);
}

let knownLoginShell: string | undefined;

function loginShell(): string {
  knownLoginShell ??= userInfo().shell ?? "/bin/sh";
  return knownLoginShell;
}

async function resolveProgram(request: StartRequest): Promise<Program> {
  const env = Array.from(request.env, ([name, value]) => `${name}=${value}`);
  // Programs on a terminal start shells, and expect SHELL to be set.
  if (typeof request.stdin === "object" && !request.env.has("SHELL")) env.push(`SHELL=${loginShell()}`);
  const argv = [request.arg0 ?? request.argv[0]!, ...request.argv.slice(1)];
  refuseTooLong(argv, env);
  return { path: await programPath(request), argv, env, cwd: request.cwd };
}

async function programPath({ argv, env, cwd, stdin }: StartRequest): Promise<string> {
  const [name] = argv;
  const onTerminal = typeof stdin === "object";
  if (name === undefined || name === "")
    throw new CapabilityError("INVALID_INPUT", `missing program for ${onTerminal ? "PTY" : "pipe"} spawn`);
  return (onTerminal ? findTerminalProgram : findProgram)(name, env.get("PATH"), cwd);
}

function startShell(script: string, stdin: number, table: number): number {
  const argv = ["sh", "-c", script, "exec-server-warden"];
  return spawnListener({ path: "/bin/sh", argv, env: ["PATH=/usr/bin:/bin"], cwd: "/" }, { stdin, table });
}
