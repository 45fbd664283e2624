import { Command, CommanderError } from "commander";
import { SERVER_COMMANDS } from "../shared/command-words.ts";
import { writeErr, print } from "../shared/standard-streams.ts";
import { fitText, helpColumns } from "../shared/fit-text.ts";
import { VERSION } from "../shared/version.ts";
import { COMMANDS, commandNamed } from "./command-table.ts";
import { endWith, INTERRUPTED_STATUS } from "./outcome/end-with.ts";
import { asFailure, OWN_FAILURE_STATUS, USAGE_STATUS, usageFailure, oneLine } from "../shared/failure.ts";
import { GREETING, overview } from "./overview.ts";
import { complain } from "./print/complain.ts";
import { withTarget } from "./target/target-options.ts";

const ARGUMENTS: readonly string[] = process.argv.slice(2);

async function main(args: readonly string[]): Promise<void> {
  if (args.length === 0) {
    await print(GREETING);
    return;
  }
  const program = createProgram();
  const name = commandNamed(args);
  const chosen = name === undefined ? undefined : COMMANDS[name];
  // Loads only what is used; help and mistakes need every command.
  for (const load of chosen === undefined ? Object.values(COMMANDS) : [chosen])
    (await load()).define(program);
  if (chosen === undefined) nameServerCommands(program);
  // Completion for a shell: see `completion`.
  if (args[0] === "complete")
    await (await import("./completion/complete.ts")).complete(program, args.slice(2));
  await program.parseAsync(args, { from: "user" });
}

function createProgram(): Command {
  const program = new Command("exec-server")
    .version(`exec-server ${VERSION}`, "-V, --version", "print version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [COMMAND]", "print the help of a command")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void print(fitText(text, helpColumns())).catch(report),
      getOutHelpWidth: () => helpColumns(),
      writeErr: () => {},
      outputError: () => {},
    });
  program.helpInformation = () => overview(program);
  return withTarget(program);
}

/** The launcher runs these in the server's program if they come first. Here they are known for suggestions. */
function nameServerCommands(program: Command): void {
  for (const [name, summary] of Object.entries(SERVER_COMMANDS))
    program
      .command(name)
      .summary(summary)
      .argument("[args...]")
      .allowUnknownOption()
      .action(() => {
        throw usageFailure(`'${name}' runs on this machine; it must be the first word, without -H or --url`);
      });
}

/** The library's messages begin with `error:` and may have a suggestion on a second line. */
function usageLine({ code, message }: CommanderError): string {
  if (code === "commander.help") {
    const unknown = ARGUMENTS[0] === "help" ? ARGUMENTS[1] : undefined;
    return `${unknown === undefined ? "a command is missing" : `unknown command '${unknown}'`}; see 'exec-server --help'`;
  }
  const [said = "", suggestion] = oneLine(message)
    .replace(/^error: /, "")
    .split(" (Did you mean ");
  if (suggestion !== undefined) return `${said}; did you mean ${suggestion.slice(0, -"?)".length)}?`;
  const name = commandNamed(ARGUMENTS);
  return `${said.replace(/\.$/, "")}; see 'exec-server ${name === undefined ? "--help" : `${name} --help`}'`;
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    if (error.exitCode !== 0) complain(usageLine(error));
    process.exitCode = error.exitCode === 0 ? 0 : USAGE_STATUS;
    return;
  }
  const failure = asFailure(error, 1);
  if (failure === undefined) explainFault(error);
  else if (failure.message !== "") complain(failure.message);
  // Without waiting for stdin, or for a reader of stdout.
  const status = failure?.exitCode ?? OWN_FAILURE_STATUS;
  void endWith(status === INTERRUPTED_STATUS ? "SIGINT" : status);
}

/** A bug of this program: the stack helps to fix it. */
function explainFault(error: unknown): void {
  complain("internal error, please report it:");
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  writeErr(`${stack}\n`);
}

void main(ARGUMENTS).catch(report);
