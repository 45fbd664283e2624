import { closeSync, read, writeSync } from "node:fs";
import { promisify } from "node:util";
import { CapabilityError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { descriptorReserve } from "../../native/descriptor-reserve.ts";
import { MAX_ASYNC_CALLS } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { containedFamily } from "./ending/contained-family.ts";
import type { ControlGroup } from "../../native/control-group.ts";
import { ControlGroups } from "./ending/control-groups.ts";
import { applyLimits, checkLimits } from "../../native/resource-limits.ts";
import { ManagedProcess, whenClosed } from "./managed-process.ts";
import type { LogLimits } from "./output/output-log.ts";
import { lookForEndsOfPipes } from "./output/output-source.ts";
import type { Confinement, ConfinedProgram, InnerProgram, Sandbox } from "../sandbox/sandbox.ts";
import { WorkLimit } from "../work-limit.ts";
import { trySandbox } from "./sandbox-trial.ts";
import { sandboxedFamily } from "./ending/sandboxed-family.ts";
import { TracedFamily } from "./ending/traced-family.ts";
import { type ProcessGroup, ProcessGroups } from "./ending/process-groups.ts";
import type { StartRequest } from "./start-request.ts";
import { type ExitStatus, Reaper } from "../../native/reaper.ts";
import {
  openPipe,
  type Program,
  spawnListener,
  spawnOnPipes,
  withholdInheritedDescriptors,
} from "../../native/spawn.ts";
import { argumentsOf, checkDirectory, resolveProgram } from "./program-lookup.ts";
import { spawnFailed } from "./spawn-failure.ts";
import { type StartedParts, startOnPipes, startOnTerminal } from "./started-parts.ts";
import { Sweeper } from "./ending/sweeper.ts";
import { Warden, type WardenRecord } from "./ending/warden.ts";

/** A program of the server itself. The caller owns its descriptors. */
export interface OwnProcess {
  readonly pid: number;
  readonly stdin: number;
  readonly stdout: number;
  readonly stderr: number;
  readonly exited: Promise<ExitStatus>;
}

const readSome = promisify(read);

/** Starts processes, and makes sure that none is forgotten. */
export class ProcessStarter {
  readonly #limits: LogLimits;
  readonly #logger: Logger;
  readonly #sandbox: Sandbox;
  readonly #reaper = new Reaper();
  readonly #warden: Warden;
  readonly #groups = new ProcessGroups();
  readonly #sweeper = new Sweeper((pid) => this.#groups.has(pid));
  readonly #controlGroups = this.createControlGroups();
  /** Concurrent starts. Each uses descriptors and a thread of Node's pool. */
  readonly #starts = new WorkLimit(MAX_ASYNC_CALLS);
  readonly #running = new Set<ManagedProcess>();
  #prepared = false;

  constructor(limits: LogLimits, { logger = silentLogger, sandbox }: { logger?: Logger; sandbox: Sandbox }) {
    this.#logger = logger;
    this.#limits = limits;
    this.#sandbox = sandbox;
    this.#warden = new Warden({ start: startShell, reaper: this.#reaper, logger });
    // Reserved before connections and files can take them. Without them, starts fail.
    descriptorReserve.fill();
  }

  /** Number of processes that have not closed. */
  get running(): number {
    return this.#running.size;
  }

  /** Rejects with a CapabilityError if the program or directory does not exist, or the system refuses. */
  async start(request: StartRequest): Promise<ManagedProcess> {
    const resolved = await this.#resolve(request);
    const { program, ended } = resolved;
    return this.#inTurn(resolved, async () => {
      const managed = await (request.limits === undefined && request.contain !== true
        ? this.#spawn(program, request)
        : this.#startGated(program, request));
      if (ended !== undefined) whenClosed(managed, ended);
      return managed;
    });
  }

  /** Starts a program of the server itself in a sandbox, on three pipes. It must end with its stdin. */
  async startOwn(inner: InnerProgram, confinement: Confinement): Promise<OwnProcess> {
    this.#prepare();
    await this.#prove();
    const confined = await this.#sandbox.confine(inner, confinement);
    return this.#inTurn(confined, async () => {
      const { pid, stdin, ...outputs } = await spawnOnPipes(confined.program, { stdin: true }, () => {});
      const exited = new Promise<ExitStatus>((resolve) => this.#reaper.watch(pid, resolve));
      return { pid, stdin: stdin!, ...outputs, exited: exited.finally(confined.ended) };
    });
  }

  /** Further control groups, which `killAll` leaves alone. They end with a server that is killed, too. */
  createControlGroups(): ControlGroups {
    return new ControlGroups((home) => this.#warden.guardControlGroup(home));
  }

  /** Sends SIGTERM to everything that runs. Resolves when it has ended, or after the deadline. */
  async terminateAll(deadlineMs: number): Promise<void> {
    for (const process of this.#running) process.askToEnd("server");
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs);
      const checkAllClosed = (): void => {
        if (this.#running.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      for (const process of this.#running) whenClosed(process, checkAllClosed);
      checkAllClosed();
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

  async #resolve(request: StartRequest): Promise<ResolvedProgram> {
    try {
      this.#prepare();
      return request.confinement === undefined
        ? { program: await resolveProgram(request) }
        : await this.#confine(request, request.confinement);
    } catch (error) {
      throw await spawnFailed(error, request.cwd);
    }
  }

  /** The program is looked up inside, where it may be another one, or missing. */
  async #confine(request: StartRequest, confinement: Confinement): Promise<ConfinedProgram> {
    const { cwd, argv } = request;
    const onTerminal = typeof request.stdin === "object";
    checkDirectory(cwd);
    if (confinement.isTrial !== true) await this.#prove();
    return this.#sandbox.confine(
      { name: argv[0] ?? "", ...argumentsOf(request), cwd, onTerminal },
      confinement,
    );
  }

  #prove(): Promise<void> {
    return this.#sandbox.prove(() => trySandbox((trial) => this.start(trial)));
  }

  /** A start that fails has also ended. */
  #inTurn<T>({ started, ended }: ResolvedProgram, start: () => Promise<T>): Promise<T> {
    return this.#starts.run(async () => {
      try {
        return await start();
      } catch (error) {
        ended?.();
        throw error;
      } finally {
        started?.();
        lookForEndsOfPipes();
      }
    });
  }

  /** A shell waits at the gate until everything is set, then becomes the program. */
  async #startGated(program: Program, request: StartRequest): Promise<ManagedProcess> {
    const { limits } = request;
    checkGated(request);
    const controlGroup = request.contain === true ? this.#controlGroups.create() : undefined;
    const opened: number[] = [];
    try {
      const [gate, ready] = await openPipes(opened, request);
      const managed = await this.#spawn(gated(program, request.env, gate, ready), request, controlGroup);
      // If this end stayed open, the end of the shell's copy would go unnoticed.
      closeSync(opened.pop()!);
      try {
        await readSome(ready.readEnd, { buffer: Buffer.alloc(1) });
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
      for (const fd of opened) closeSync(fd);
    }
  }

  async #spawn(
    program: Program,
    request: StartRequest,
    controlGroup?: ControlGroup,
  ): Promise<ManagedProcess> {
    const { stdin } = request;
    let record: WardenRecord | undefined;
    let started: StartedParts;
    try {
      record = this.#warden.reserve();
      started = await (typeof stdin === "object"
        ? startOnTerminal(program, { size: stdin.terminal, controlling: !request.confinement }, record)
        : startOnPipes(program, stdin === "pipe", record));
    } catch (error) {
      record?.release();
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
      const family =
        controlGroup === undefined
          ? new TracedFamily(pid, { group, sweeper: this.#sweeper })
          : containedFamily(group, controlGroup, this.#controlGroups);
      const program = shorten(request.argv[0] ?? "");
      const evicted = (): void =>
        this.#logger.warn("output of a process was evicted to retain newer output", { pid, program });
      const sandboxed = request.confinement !== undefined;
      managed = new ManagedProcess(
        { pid, family: sandboxed ? sandboxedFamily(pid, family) : family, ...streams },
        this.#limits,
        // What is on disk as well is not lost.
        { ...request, sandboxed, ...(request.spool === undefined ? { evicted } : {}) },
      );
    } catch (error) {
      // It is running, and nothing else would ever end it.
      group.signal("SIGKILL");
      this.#reaper.watchInBackground(pid, () => group.leaderReaped());
      throw error;
    }
    this.#running.add(managed);
    whenClosed(managed, () => this.#running.delete(managed));
    this.#reaper.watch(pid, (status) => managed.exited(status));
    return managed;
  }
}

type ResolvedProgram = Pick<ConfinedProgram, "program"> & Partial<ConfinedProgram>;

type Pipe = ReturnType<typeof openPipe>;

/** The pipes of a gate. Their ends are added to `opened`. */
async function openPipes(opened: number[], { cwd }: StartRequest): Promise<[gate: Pipe, ready: Pipe]> {
  try {
    return [openPipe(opened), openPipe(opened)];
  } catch (error) {
    throw await spawnFailed(error, cwd);
  }
}

/** Variables that shells set on their own. */
const SHELL_VARIABLES = ["PWD", "OLDPWD", "SHLVL"];

/**
 * posix_spawn can neither set limits nor choose a control group, and doing so for a running program is too late. So a
 * shell is started that says when it is ready, because a limit must not hit it while it is being loaded, and waits for
 * a line at the gate; once everything is set it gets the line and becomes the program. If the line never comes, it ends.
 */
function gated(program: Program, env: ReadonlyMap<string, string>, gate: Pipe, ready: Pipe): Program {
  const own = SHELL_VARIABLES.filter((name) => !env.has(name));
  const script = `echo >&8; exec 8>&-; read -r go <&3 || exit 126; exec 3<&-; unset ${own.join(" ")}; exec "$@"`;
  const { descriptors = [] } = program;
  return {
    ...program,
    path: "/bin/sh",
    argv: ["sh", "-c", script, "sh", program.path, ...program.argv.slice(1)],
    descriptors: [{ from: gate.readEnd, to: 3 }, { from: ready.writeEnd, to: 8 }, ...descriptors],
  };
}

/** Throws a CapabilityError for what a shell at the gate cannot do. In a sandbox, the stage sets the other name. */
function checkGated({ arg0, limits, confinement }: StartRequest): void {
  if (arg0 !== undefined && confinement === undefined)
    throw new CapabilityError(
      "INVALID_INPUT",
      `${limits === undefined ? "contain" : "limits"} cannot be set for a program that runs under another name`,
    );
  if (limits !== undefined) checkLimits(limits);
}

function startShell(script: string, stdin: number, table: number): number {
  const argv = ["sh", "-c", script, "exec-server-warden"];
  return spawnListener({ path: "/bin/sh", argv, env: ["PATH=/usr/bin:/bin"], cwd: "/" }, { stdin, table });
}
