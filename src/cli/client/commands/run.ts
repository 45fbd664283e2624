import { type Command, Option } from "commander";
import { SANDBOX_PRESETS } from "../../../protocol/sandbox-options.ts";
import type { Host } from "../../../client/host/host.ts";
import type { StartOptions } from "../../../client/process/start-request.ts";
import { type End, setAction, withOwnStatus } from "../outcome/end-with.ts";
import { usageFailure } from "../../shared/failure.ts";
import { checkName } from "../kept/kept-name.ts";
import { withOn } from "../fleet/chosen-machines.ts";
import { parseCount, parseDurationArgument, repeated } from "../arguments.ts";
import { print } from "../../shared/standard-streams.ts";
import { startDetached } from "../running/run-detached.ts";
import type { ManyOptions } from "../running/many/run-on-machines.ts";
import { runPiped } from "../running/run-piped.ts";
import { withSecrets } from "../running/secret-flags.ts";
import { type StartFlags, startOptions } from "../running/start-options.ts";
import { checkProgram } from "../outcome/exit-status.ts";
import { connectTarget } from "../target/connect-target.ts";
import { withTarget } from "../target/target-options.ts";

interface RunOptions extends ManyOptions, StartFlags {
  readonly stdin: boolean;
  readonly interactive?: boolean;
  readonly detach?: boolean;
  readonly name?: string;
  readonly tty?: boolean;
}

const EXAMPLES = `
The command's status becomes this command's. 126 and 127: the program cannot be executed or was not found; 124: it
was ended by --timeout; 255: exec-server failed.

With --on, the command runs on many machines of a fleet at once, and reads no input. Equal answers are printed once,
after the names of the machines that gave them, when all have answered. Machines that are cordoned are left out. The
status is the highest of all: 0 only if the command succeeded everywhere, 255 if a machine could not be reached. Ctrl-C
ends all of them. -t, -d, -i and --name are for one machine.

Examples:
  exec-server run -- uname -a
  exec-server run --cwd /srv/app --env CI=1 -- npm test
  exec-server run -t -- vim notes.txt
  exec-server run --sandbox workspace-write --secret OPENAI_API_KEY=api.openai.com -- ./agent.py
  exec-server run -- sh -c 'tar c src | gzip' < /dev/null > src.tar.gz
  exec-server -H prod run --on zone=eu -- uptime
  exec-server -H prod run --on all -j 5 --fail-fast -- systemctl reload nginx
  exec-server run -d --name build -- make
`;

/** Adds `run`. */
export function define(program: Command): void {
  const command = program
    .command("run")
    .summary("run a command, passing on its input, output, signals and status")
    .description("Run a command, and pass on its input, output, signals and exit status, as ssh does.")
    .usage("[OPTIONS] [--] CMD [ARG...]")
    .argument("<cmd...>", "program and its arguments")
    .passThroughOptions()
    .option("-t, --tty", "run it on a terminal, shown in this one")
    .option("-d, --detach", "leave the command running on the server, and print its name")
    .option(
      "--name <NAME>",
      "its name with -d; replaces an ended process of that name [default: from the program]",
    )
    .option(
      "-i, --interactive",
      "with -d, leave stdin open for 'attach'; without -d, stdin is always passed on",
    )
    .option("-n, --no-stdin", "do not read stdin")
    .option("--cwd <DIR>", "working directory of the command")
    .option("--env <K=V>", "set a variable; K alone copies yours (repeatable)", repeated)
    .option("--timeout <DURATION>", "end the command after this time: 10s, 5m", parseDurationArgument)
    .addOption(new Option("--sandbox <NAME>", "confine the command").choices(SANDBOX_PRESETS));
  withSecrets(command, "the command")
    .option("-j, --max-concurrency <N>", "with --on, machines at a time [default: 32]", parseCount)
    .option("--fail-fast", "with --on, end all others when the command fails on one machine")
    .option("--json", "with --on, print the results as JSON")
    .addHelpText("after", EXAMPLES);
  withOn(command);
  setAction(withTarget(command), withOwnStatus(run));
}

/** Resolves with the exit status. */
async function run(argv: readonly string[], options: RunOptions): Promise<End> {
  if (options.name !== undefined && options.detach !== true) throw usageFailure("--name needs -d");
  if (options.name !== undefined) checkName(options.name);
  checkProgram(argv);
  if (options.on !== undefined) return await runOnMany(argv, options);
  checkOne(options);
  const connected = await connectTarget(options, options.detach === true ? "kept" : "session");
  await using host = connected.host;
  const start = startOptions(connected, options);
  if (options.detach === true) return await detach(host, argv, options, start);
  if (options.tty === true) {
    const { runOnTerminal } = await import("../terminal/run-on-terminal.ts");
    return await runOnTerminal(host, argv, start);
  }
  return await runPiped(host, argv, { ...start, stdin: options.stdin });
}

/** Options for one machine only. */
const FOR_ONE = { tty: "-t", detach: "-d", interactive: "-i" } as const;
/** Options for many machines only. */
const FOR_MANY = { maxConcurrency: "-j", failFast: "--fail-fast", json: "--json" } as const;

async function runOnMany(argv: readonly string[], options: RunOptions): Promise<number> {
  for (const [name, flag] of Object.entries(FOR_ONE))
    if (options[name as keyof typeof FOR_ONE] === true)
      throw usageFailure(`${flag} is for one machine; use -H FLEET/NAME, or leave out ${flag}`);
  const { runOnMachines } = await import("../running/many/run-on-machines.ts");
  return await runOnMachines(argv, options, (host) => startOptions({ host, isOwn: false }, options));
}

function checkOne(options: RunOptions): void {
  for (const [name, flag] of Object.entries(FOR_MANY))
    if (options[name as keyof typeof FOR_MANY] !== undefined)
      throw usageFailure(`${flag} is for many machines; add --on`);
}

async function detach(
  host: Host,
  argv: readonly string[],
  { name, interactive, tty }: RunOptions,
  options: StartOptions,
): Promise<number> {
  const stdin = interactive === true ? "pipe" : "none";
  const { terminalOptions } = await import("../terminal/run-on-terminal.ts");
  const started = await startDetached(host, argv[0]!, name, (keep) =>
    tty === true
      ? host.terminal(argv, { ...terminalOptions(options), keep })
      : host.start(argv, { ...options, stdin, keep }),
  );
  await print(`${started}\n`);
  return 0;
}
