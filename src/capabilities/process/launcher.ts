import { userInfo } from "node:os";
import { CapabilityError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { writePipe, writeTerminal } from "./input-writer.ts";
import { ManagedProcess, type ProcessLimits, type ProcessParts } from "./managed-process.ts";
import { readPipe, readTerminal } from "./output-source.ts";
import { ProcessGroups } from "./process-groups.ts";
import { findProgram, findTerminalProgram } from "./program-lookup.ts";
import { Reaper } from "./reaper.ts";
import {
  keepInheritedDescriptors,
  type Program,
  spawnListener,
  spawnOnPipes,
  spawnOnTerminal,
  type TerminalSize,
} from "./spawn.ts";
import { Warden } from "./warden.ts";

export interface LaunchRequest {
  readonly argv: readonly string[];
  /** What the program sees as its name, instead of `argv[0]`. */
  readonly arg0?: string;
  readonly cwd: string;
  readonly env: ReadonlyMap<string, string>;
  readonly stdin: "none" | "pipe" | { readonly terminal: TerminalSize };
}

/** Starts processes, and sees to it that none is forgotten. */
export class Launcher {
  readonly #limits: ProcessLimits;
  readonly #reaper = new Reaper();
  readonly #warden: Warden;
  readonly #groups: ProcessGroups;
  #prepared = false;

  constructor(limits: ProcessLimits, logger: Logger = silentLogger) {
    this.#limits = limits;
    this.#warden = new Warden({ start: startShell, reaper: this.#reaper, logger });
    this.#groups = new ProcessGroups(this.#warden);
  }

  /** Throws a CapabilityError when there is no such program or directory, or the system refuses. */
  launch(request: LaunchRequest): ManagedProcess {
    this.#prepare();
    const parts = this.#spawn(request);
    const managed = new ManagedProcess(parts, this.#limits);
    this.#reaper.watch(parts.pid, (status) => managed.exited(status));
    return managed;
  }

  /** Kills all that was ever started here and stayed in its process group. */
  killAll(): void {
    this.#groups.killAll();
  }

  #prepare(): void {
    if (this.#prepared) return;
    this.#prepared = true;
    keepInheritedDescriptors();
    this.#reaper.listen();
  }

  #spawn(request: LaunchRequest): ProcessParts {
    const { stdin } = request;
    const program: Program = {
      path: programPath(request),
      argv: [request.arg0 ?? request.argv[0]!, ...request.argv.slice(1)],
      env: Array.from(request.env, ([name, value]) => `${name}=${value}`),
      cwd: request.cwd,
    };
    const announce = (stdoutLink: string): void => this.#warden.expect(stdoutLink);
    if (typeof stdin === "object") {
      const { pid, ...master } = spawnOnTerminal(withShell(program, request.env), stdin.terminal, announce);
      return {
        pid,
        group: this.#groups.track(pid, "terminal"),
        input: writeTerminal(master.input),
        outputs: [{ stream: "pty", open: (sink) => readTerminal(master.output, master.outputRest, sink) }],
      };
    }
    const { pid, ...pipes } = spawnOnPipes(program, { stdin: stdin === "pipe" }, announce);
    return {
      pid,
      group: this.#groups.track(pid, "pipes"),
      input: pipes.stdin === undefined ? undefined : writePipe(pipes.stdin),
      outputs: [
        { stream: "stdout", open: (sink) => readPipe(pipes.stdout, sink) },
        { stream: "stderr", open: (sink) => readPipe(pipes.stderr, sink) },
      ],
    };
  }
}

/** Programs on a terminal start shells, and take SHELL for granted. */
function withShell(program: Program, env: ReadonlyMap<string, string>): Program {
  if (env.has("SHELL")) return program;
  return { ...program, env: [...program.env, `SHELL=${userInfo().shell ?? "/bin/sh"}`] };
}

function programPath({ argv, env, cwd, stdin }: LaunchRequest): string {
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
