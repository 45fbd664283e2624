import { CliError } from "./cli-error.ts";
import { serve } from "./serve.ts";
import { help } from "./help.ts";
import { doctorHelp, sandboxHelp } from "./help-sandbox.ts";
import { printResult } from "./print-result.ts";
import { writeErr } from "../shared/standard-streams.ts";
import { VERSION } from "../shared/version.ts";

interface Command {
  readonly help: () => string;
  /** Commands that are rarely used are loaded when they are. */
  readonly run: (args: readonly string[]) => Promise<void>;
}

const SERVE: Command = { help, run: serve };

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: SERVE,
  doctor: {
    help: doctorHelp,
    run: async (args) => (await import("./doctor.ts")).doctor(args),
  },
  sandbox: {
    help: sandboxHelp,
    run: async (args) => (await import("./sandbox.ts")).sandbox(args),
  },
};

async function main(args: readonly string[]): Promise<void> {
  // The launcher brings `help` here only with the name of a command that is known here.
  const [first = "", ...rest] = args[0] === "help" ? [...args.slice(1), "--help"] : args;
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  const flags = named === undefined ? args : rest;
  const command = named ?? SERVE;
  if (flags.includes("--help") || flags.includes("-h")) {
    await printResult(command.help());
    return;
  }
  if (flags.includes("--version") || flags.includes("-V")) {
    await printResult(`exec-server ${VERSION}\n`);
    return;
  }
  await command.run(flags);
}

void main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof CliError)) throw error;
  writeErr(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
