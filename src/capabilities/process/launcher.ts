import { userInfo } from "node:os";
import { CapabilityError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { ERRNO, osError } from "../os-error.ts";
import { writePipe, writeTerminal } from "./input-writer.ts";
import { ManagedProcess, type ProcessLimits, type ProcessParts } from "./managed-process.ts";
import { readPipe, readTerminal } from "./output-source.ts";
import { ProcessGroups } from "./process-groups.ts";
import { programCandidates } from "./program-lookup.ts";
import { Reaper } from "./reaper.ts";
import { type Program, spawnListener, spawnOnPipes, spawnOnTerminal, type TerminalSize } from "./spawn.ts";
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

  constructor(limits: ProcessLimits, logger: Logger = silentLogger) {
    this.#limits = limits;
    this.#warden = new Warden({ start: startShell, reaper: this.#reaper, logger });
    this.#groups = new ProcessGroups(this.#warden);
  }

  /** Throws a CapabilityError when there is no such program or directory, or the system refuses. */
  launch(request: LaunchRequest): ManagedProcess {
    this.#reaper.listen();
    const parts = this.#spawnFirst(request);
    const managed = new ManagedProcess(parts, this.#limits);
    this.#reaper.watch(parts.pid, (status) => managed.exited(status));
    return managed;
  }

  #spawnFirst(request: LaunchRequest): ProcessParts {
    const [name] = request.argv;
    if (name === undefined || name === "")
      throw new CapabilityError("INVALID_INPUT", "missing program for pipe spawn");
    let failure: unknown;
    for (const path of programCandidates(name, request.env.get("PATH"), request.cwd)) {
      try {
        return this.#spawn(path, request);
      } catch (error) {
        // As execvp does it: a file that may not be executed does not hide one later on the PATH.
        if (!(error instanceof CapabilityError) || error.errno !== "EACCES") throw error;
        failure ??= error;
      }
    }
    throw failure ?? notFound(name, request);
  }

  #spawn(path: string, request: LaunchRequest): ProcessParts {
    const { stdin } = request;
    const program: Program = {
      path,
      argv: [request.arg0 ?? request.argv[0]!, ...request.argv.slice(1)],
      env: Array.from(request.env, ([name, value]) => `${name}=${value}`),
      cwd: request.cwd,
    };
    const announce = (stdoutLink: string): void => this.#warden.expect(stdoutLink);
    if (typeof stdin === "object") {
      const { pid, ...master } = spawnOnTerminal(withShell(program, request.env), stdin.terminal, announce);
      return {
        pid,
        group: this.#groups.track(pid),
        input: writeTerminal(master.input),
        outputs: [{ stream: "pty", open: (sink) => readTerminal(master.output, master.outputRest, sink) }],
      };
    }
    const { pid, ...pipes } = spawnOnPipes(program, { stdin: stdin === "pipe" }, announce);
    return {
      pid,
      group: this.#groups.track(pid),
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

function notFound(name: string, request: LaunchRequest): CapabilityError {
  if (typeof request.stdin !== "object" || name.includes("/")) return osError(ERRNO.ENOENT);
  const path = JSON.stringify(request.env.get("PATH") ?? "");
  return new CapabilityError(
    "NOT_FOUND",
    `Unable to spawn ${name} because:\nNo viable candidates found in PATH ${path}`,
    { errno: "ENOENT" },
  );
}

function startShell(script: string, stdin: number): number {
  const argv = ["sh", "-c", script, "exec-server-warden"];
  return spawnListener({ path: "/bin/sh", argv, env: ["PATH=/usr/bin:/bin"], cwd: "/" }, stdin);
}
