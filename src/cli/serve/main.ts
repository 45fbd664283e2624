import { ExecError } from "../../base/errors.ts";
import { Failure, USAGE_STATUS } from "../shared/failure.ts";
import { fitText, helpColumns } from "../shared/fit-text.ts";
import { print, writeErr } from "../shared/standard-streams.ts";
import { VERSION } from "../shared/version.ts";
import { help } from "./help.ts";
import { serve } from "./serve.ts";

interface Command {
  readonly help: string;
  readonly run: (args: readonly string[]) => Promise<void>;
}

/** The help is long, and is created on demand. */
const loadServe = async (): Promise<Command> => ({
  get help() {
    return help();
  },
  run: serve,
});

/** Commands that are rarely used are loaded when they are. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: loadServe,
  doctor: () => import("./doctor.ts"),
  sandbox: () => import("./sandbox.ts"),
  relay: () => import("./relay.ts"),
  durable: () => import("./durable.ts"),
  forward: () => import("./forward.ts"),
};

async function main(args: readonly string[]): Promise<void> {
  // The launcher brings `help` here only with the name of a command that is known here.
  const [first = "", ...rest] = args[0] === "help" ? [...args.slice(1), "--help"] : args;
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  const flags = named === undefined ? args : rest;
  const command = await (named ?? loadServe)();
  if (flags.includes("--help") || flags.includes("-h")) await print(fitText(command.help, helpColumns()));
  else if (flags.includes("--version") || flags.includes("-V")) await print(`exec-server ${VERSION}\n`);
  else await command.run(flags);
}

/** Usage errors are worded as Codex's server words its own. */
function describe(message: string, exitCode: number): string {
  if (exitCode !== USAGE_STATUS) return `Error: ${message}\n`;
  return `error: ${message}\n\nFor more information, try '--help'.\n`;
}

void main(process.argv.slice(2)).catch((error: unknown) => {
  // Some faults only show on this machine: it cannot serve, or a configured root does not exist.
  const failure = error instanceof ExecError ? new Failure(error.message) : error;
  if (!(failure instanceof Failure)) throw error;
  const { message, exitCode = 1 } = failure;
  if (message !== "") writeErr(describe(message, exitCode));
  process.exitCode = exitCode;
});
