import { anySignal } from "../../../../base/deadlines.ts";
import { ConnectionError } from "../../../../base/errors.ts";
import { connect, type ServerCommand } from "../../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../../client/host/open-host.ts";
import type { Host } from "../../../../client/host/host.ts";
import { startPreparedChild } from "../../../../transport/prepared-child.ts";
import { Failure } from "../../../shared/failure.ts";
import { INSTALL_COMMAND } from "../../../shared/install-command.ts";
import { untilInterrupted } from "../../outcome/until-interrupted.ts";
import { bringing, progressLine } from "./bring/bring.ts";
import { NO_SHELL, type Step } from "./bring/converse.ts";
import { keptCommand } from "./kept-command.ts";
import { patiently, type Waiting } from "./patience.ts";
import { serverChild, type ServerProgram } from "./server-child.ts";
import { isSshUrl } from "./ssh-command.ts";

/** Status of a shell that cannot find a program. */
const NOT_FOUND_STATUS = 127;

/** Status of ssh if it cannot connect. */
const SSH_FAILURE_STATUS = "255";
const FORCED_COMMAND_HINT = "if a forced command starts exec-server there, pass --no-bring";

/**
 * The command gets the keys pressed while it asks for a password, but not Ctrl-C, which is for the remote program: it
 * keeps ignoring the signals that are ignored at its start.
 */
const WITHOUT_KEYS = ["/bin/sh", "-c", 'trap "" INT QUIT; exec "$@"', "sh"] as const;

/** Waiting is up to the user; a password has to be typed before the server answers. */
const TIMELESS = {
  connectTimeoutMs: Number.POSITIVE_INFINITY,
  initializeTimeoutMs: Number.POSITIVE_INFINITY,
};

interface ProgramConnectOptions extends ConnectOptions {
  /** Called with what happens on the way to a server that may have to be brought along. */
  readonly onStep?: (step: Step) => void;
}

/** Starts the command and connects to it. With `kept`, to a server that outlives it. */
export async function connectProgram(
  program: ServerProgram,
  { kept, ...options }: ProgramConnectOptions & { readonly kept: boolean },
): Promise<Host> {
  if (program.brings === true) return connectBringing(program, kept, options);
  const command = kept ? keptCommand(program.command) : program.command;
  if (command === undefined)
    throw new Failure(
      `'${program.name}' starts a server that ends with each command, so it cannot keep processes; have its program end in 'exec-server bridge --stdio'`,
    );
  return await openPatiently(program, command, options, ({ child, logger, signal }) =>
    connect(child, { ...options, ...TIMELESS, logger, signal }),
  );
}

/** The same, with a command that brings exec-server along where it is missing. */
async function connectBringing(
  program: ServerProgram,
  kept: boolean,
  { onStep, ...options }: ProgramConnectOptions,
): Promise<Host> {
  const { command, prepare } = bringing(program.name, program.command, kept);
  const showProgress = progressLine(program.name);
  return await openPatiently(program, command, options, async ({ child, logger, signal, progress }) => {
    const listener = (step: Step): void => {
      progress();
      showProgress(step);
      onStep?.(step);
    };
    const transport = await startPreparedChild({ ...child, logger }, (pipes) =>
      prepare(pipes, { signal, onStep: listener }),
    );
    return connect(transport, { ...options, ...TIMELESS, signal });
  });
}

async function openPatiently(
  program: ServerProgram,
  command: readonly [string, ...string[]],
  { initializeTimeoutMs }: ConnectOptions,
  open: (waiting: Waiting & { readonly child: ServerCommand }) => Promise<Host>,
): Promise<Host> {
  const { usesTerminal: sharesTerminal = true } = program;
  const child = {
    ...serverChild(program, sharesTerminal ? [...WITHOUT_KEYS, ...command] : command),
    name: `'${program.name}': ${command[0]}`,
    sharesTerminal,
  };
  const waiting = {
    name: program.name,
    program: command[0],
    silenceMs: initializeTimeoutMs,
    remedy: program.brings === true ? `; ${FORCED_COMMAND_HINT}` : "",
  };
  try {
    // A signal in the meantime ends the command, too, which would otherwise keep asking for a password.
    return await untilInterrupted((interrupted) =>
      patiently(waiting, ({ signal, ...more }) =>
        open({ ...more, child, signal: anySignal([signal, interrupted]) }),
      ),
    );
  } catch (error) {
    throw error instanceof ConnectionError ? explained(error, program, command) : error;
  }
}

/** How to set exec-server's path on a machine. A host of hosts.toml has it in its entry. */
function locationHint(name: string, program: string): string {
  if (isSshUrl(name)) return "EXEC_SERVER_REMOTE_COMMAND=/path/to/exec-server";
  return program === "ssh"
    ? `exec-server host edit ${name} --remote-command /path/to/exec-server`
    : `exec-server host add --replace ${name} -- ${program} …`;
}

/** Without a word of the script, the other machine has not run it. */
function didNotRunScript(name: string, words: string): Failure {
  return /^: sh: .*\bssh: /.test(words)
    ? new Failure(`cannot reach '${name}' because ssh was not found; install it`)
    : new Failure(`'${name}' does not run commands in a shell${words}; ${FORCED_COMMAND_HINT}`);
}

/** Adds what the user can do about it. */
function explained(
  error: ConnectionError,
  { name }: ServerProgram,
  [program]: readonly [string, ...string[]],
): Failure {
  const message = error.message.replace(NO_SHELL, "");
  const [, status] = / exited with status (\d+)/.exec(message) ?? [];
  const [, said = ""] = /its last lines on stderr: (?:exec-server: )?(.*)/s.exec(message) ?? [];
  const words = said === "" ? "" : `: ${said.trim()}`;
  if (message !== error.message && status !== undefined && status !== SSH_FAILURE_STATUS)
    return didNotRunScript(name, words || (message.split(` exited with status ${status}`)[1] ?? ""));
  if (Number(status) === NOT_FOUND_STATUS)
    return new Failure(
      said.includes(`${program}: `) && !said.includes("exec-server")
        ? `cannot reach '${name}' because ${program} was not found; install it`
        : `exec-server was not found on '${name}'${words}; install it there with '${INSTALL_COMMAND}', or say where it is: ${locationHint(name, program)}`,
    );
  if (message.includes("is not valid JSON"))
    return new Failure(
      `'${name}' printed something that is not an exec-server message; its shell must not print anything when it runs a command`,
    );
  if (status !== undefined)
    return new Failure(`cannot reach '${name}'${words || `: ${program} ended with status ${status}`}`);
  return new Failure(`cannot reach '${name}': ${message}`);
}
