import { Command, CommanderError } from "commander";
import { VERSION } from "../version.ts";
import { COMMANDS, commandNamed } from "./command-table.ts";
import { asFailure, Failure, OWN_FAILURE_STATUS, USAGE_STATUS } from "./failure.ts";
import { oneLine } from "./one-line.ts";
import { withTarget } from "./target/target-options.ts";

async function main(args: readonly string[]): Promise<void> {
  const program = createProgram();
  const name = commandNamed(args);
  const chosen = name === undefined ? undefined : COMMANDS[name];
  // Only what is used is loaded; help and mistakes need to know every command.
  for (const { define } of chosen === undefined ? Object.values(COMMANDS) : [chosen]) await define(program);
  await program.parseAsync(args, { from: "user" });
}

function createProgram(): Command {
  const program = new Command("exec-server")
    .description("Run processes, terminals and files on this machine or another")
    .usage("COMMAND [OPTIONS]")
    .version(`exec-server ${VERSION}`, "-V, --version", "print version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [COMMAND]", "print the help of a command")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => {} });
  return withTarget(program);
}

/** The library's messages begin with `error:` and may have a suggestion on a second line. */
function usageLine({ message }: CommanderError): string {
  return `${oneLine(message).replace(/^error: /, "")}; see 'exec-server help'`;
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    if (error.exitCode !== 0) process.stderr.write(`exec-server: ${usageLine(error)}\n`);
    process.exitCode = error.exitCode === 0 ? 0 : USAGE_STATUS;
    return;
  }
  const failure = asFailure(error, 1) ?? unexpected(error);
  process.stderr.write(`exec-server: ${failure.message}\n`);
  process.exitCode = failure.exitCode;
}

/** A fault of this program: the stack helps whoever mends it. */
function unexpected(error: unknown): Failure {
  const stack = error instanceof Error ? error.stack : String(error);
  return new Failure(`internal error, please report it: ${stack}`, OWN_FAILURE_STATUS);
}

void main(process.argv.slice(2)).catch(report);
