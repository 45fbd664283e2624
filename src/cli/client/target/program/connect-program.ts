import { ConnectionError } from "../../../../base/errors.ts";
import { connect } from "../../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../../client/host/open-host.ts";
import type { Host } from "../../../../client/host/host.ts";
import { Failure } from "../../../shared/failure.ts";
import { INSTALL_COMMAND } from "../../../shared/install-command.ts";
import { untilInterrupted } from "../../outcome/until-interrupted.ts";
import { keptCommand } from "./kept-command.ts";
import { patiently } from "./patience.ts";
import { serverChild, type ServerProgram } from "./server-child.ts";
import { isSshUrl } from "./ssh-command.ts";

/** Status of a shell that cannot find a program. */
const NOT_FOUND_STATUS = 127;

/**
 * The command gets the keys pressed while it asks for a password, but not Ctrl-C, which is for the remote program: it
 * keeps ignoring the signals that are ignored at its start.
 */
const WITHOUT_KEYS = ["/bin/sh", "-c", 'trap "" INT QUIT; exec "$@"', "sh"] as const;

/** Starts the command and connects to it. With `kept`, to a server that outlives it. */
export async function connectProgram(
  program: ServerProgram,
  { kept, ...options }: ConnectOptions & { readonly kept: boolean },
): Promise<Host> {
  const command = kept ? keptCommand(program.command) : program.command;
  if (command === undefined)
    throw new Failure(
      `'${program.name}' starts a server that ends with each command, so it cannot keep processes; have its program end in 'exec-server bridge --stdio'`,
    );
  const { usesTerminal: sharesTerminal = true } = program;
  const child = {
    ...serverChild(program, sharesTerminal ? [...WITHOUT_KEYS, ...command] : command),
    name: `'${program.name}': ${command[0]}`,
    sharesTerminal,
  };
  const waiting = { name: program.name, program: command[0], silenceMs: options.initializeTimeoutMs };
  // Waiting is up to the user; a password has to be typed before the server answers.
  const timeless = {
    connectTimeoutMs: Number.POSITIVE_INFINITY,
    initializeTimeoutMs: Number.POSITIVE_INFINITY,
  };
  try {
    // A signal in the meantime ends the command, too, which would otherwise keep asking for a password.
    return await untilInterrupted((interrupted) =>
      patiently(waiting, ({ signal, logger }) =>
        connect(child, { ...options, ...timeless, logger, signal: AbortSignal.any([signal, interrupted]) }),
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

/** Adds what the user can do about it. */
function explained(
  error: ConnectionError,
  { name }: ServerProgram,
  [program]: readonly [string, ...string[]],
): Failure {
  const [, status] = / exited with status (\d+)/.exec(error.message) ?? [];
  const [, said = ""] = /its last lines on stderr: (?:exec-server: )?(.*)/s.exec(error.message) ?? [];
  const words = said === "" ? "" : `: ${said.trim()}`;
  if (Number(status) === NOT_FOUND_STATUS)
    return new Failure(
      said.includes(`${program}: `) && !said.includes("exec-server")
        ? `cannot reach '${name}' because ${program} was not found; install it`
        : `exec-server was not found on '${name}'${words}; install it there with '${INSTALL_COMMAND}', or say where it is: ${locationHint(name, program)}`,
    );
  if (error.message.includes("is not valid JSON"))
    return new Failure(
      `'${name}' printed something that is not an exec-server message; its shell must not print anything when it runs a command`,
    );
  if (status !== undefined)
    return new Failure(`cannot reach '${name}'${words || `: ${program} ended with status ${status}`}`);
  return new Failure(`cannot reach '${name}': ${error.message}`);
}
