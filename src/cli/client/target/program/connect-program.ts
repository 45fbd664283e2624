import { ConnectionError } from "../../../../base/errors.ts";
import { connect } from "../../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../../client/host/open-host.ts";
import type { Host } from "../../../../client/host/host.ts";
import { Failure } from "../../outcome/failure.ts";
import { untilInterrupted } from "../../outcome/until-interrupted.ts";
import { keptCommand } from "./kept-command.ts";
import { patiently } from "./patience.ts";
import { serverChild, type ServerProgram } from "./server-child.ts";

/** Of a shell that does not find a program. */
const NOT_FOUND_STATUS = 127;

/**
 * The command gets the keys that are pressed while it asks for a password, but not Ctrl-C, which is for what runs there:
 * it keeps ignoring what is ignored at its start.
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
      `'${program.name}' starts a server that ends with each command, so nothing is kept there; let its program end in 'exec-server bridge --stdio'`,
    );
  const child = { ...serverChild(program, [...WITHOUT_KEYS, ...command]), sharesTerminal: true };
  const waiting = { name: program.name, program: command[0], silenceMs: options.initializeTimeoutMs };
  // Whoever waits has the time; a password has to be typed before anything is answered.
  const timeless = {
    connectTimeoutMs: Number.POSITIVE_INFINITY,
    initializeTimeoutMs: Number.POSITIVE_INFINITY,
  };
  try {
    // A signal meanwhile ends the command too, which would otherwise go on asking for a password.
    return await untilInterrupted((interrupted) =>
      patiently(waiting, ({ signal, logger }) =>
        connect(child, { ...options, ...timeless, logger, signal: AbortSignal.any([signal, interrupted]) }),
      ),
    );
  } catch (error) {
    throw error instanceof ConnectionError ? explained(error, program, command) : error;
  }
}

/** What a person can do about it. */
function explained(
  error: ConnectionError,
  { name }: ServerProgram,
  [program]: readonly [string, ...string[]],
): Failure {
  const [, status] = / exited with status (\d+)/.exec(error.message) ?? [];
  const [, said = ""] = /its last words on stderr: (?:exec-server: )?(.*)/s.exec(error.message) ?? [];
  const words = said === "" ? "" : `: ${said.trim()}`;
  if (Number(status) === NOT_FOUND_STATUS)
    return new Failure(
      said.includes(`${program}: `) && !said.includes("exec-server")
        ? `cannot reach '${name}' because ${program} was not found; install it`
        : `exec-server was not found on '${name}'${words}; install it there with 'npm install -g exec-server', or say in EXEC_SERVER_REMOTE_COMMAND how it is called there`,
    );
  if (error.message.includes("is not valid JSON"))
    return new Failure(
      `'${name}' printed something that is not a message of exec-server; its shell must print nothing of its own when it runs a command`,
    );
  if (status !== undefined)
    return new Failure(`cannot reach '${name}'${words || `: ${program} ended with status ${status}`}`);
  return new Failure(`cannot reach '${name}': ${error.message}`);
}
